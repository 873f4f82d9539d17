// The files of the page at /ui/, which lie in this folder: index.html, a stylesheet, modules. CMake
// puts them into the binary (page_files.cmake), so that it stays one file and page and daemon are
// of one version. There is no other step between what lies here and what a browser gets.
#ifndef TALLYD_API_UI_PAGE_FILES_H_
#define TALLYD_API_UI_PAGE_FILES_H_

#include <span>
#include <string_view>

namespace tallyd {

struct PageFile {
  std::string_view name;  // "main.mjs"
  std::string_view content_type;
  std::string_view content;
};

// In order of their names. Lives as long as the process.
std::span<const PageFile> PageFiles();

}  // namespace tallyd

#endif  // TALLYD_API_UI_PAGE_FILES_H_
