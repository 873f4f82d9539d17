# Writes OUTPUT, the definition of PageFiles (api/ui/page_files.h): each of FILES as a raw string.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_mjs "text/javascript; charset=utf-8")

list(SORT FILES)
set(entries "")
foreach(path IN LISTS FILES)
  cmake_path(GET path FILENAME name)
  cmake_path(GET path EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  file(READ ${path} text)
  string(FIND "${text}" ")page_file\"" ends_early)
  if(NOT ends_early EQUAL -1)
    message(FATAL_ERROR "${path} holds what ends its string")
  endif()
  string(APPEND entries "    {\"${name}\", \"${type_${extension}}\",\n"
                        "     R\"page_file(${text})page_file\"sv},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"api/ui/page_files.h\"

namespace tallyd {

namespace {

using std::string_view_literals::operator\"\"sv;

constexpr PageFile kPageFiles[] = {
${entries}};

}  // namespace

std::span<const PageFile> PageFiles() { return kPageFiles; }

}  // namespace tallyd
")
