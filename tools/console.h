// What the commands say to people: tables, and how far a tool is.
#ifndef TALLYD_TOOLS_CONSOLE_H_
#define TALLYD_TOOLS_CONSOLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/values/repeating_thread.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {

// Rows of one number of cells, the first of them the heading; columns are as wide as they need to
// be, those of numbers flush right.
std::string TextTable(const std::vector<std::vector<std::string>>& rows);

// "1.5 MB", of millions of bytes.
std::string FormatBytes(uint64_t bytes);
// With what a terminal or a line cannot bear as \xNN.
std::string Printable(std::string_view text);
// "reading block files: 42 % of 1.5 GB, 310.0 MB/s"
std::string ProgressText(std::string_view step, uint64_t done, uint64_t total, double seconds);

// Shows progress on standard error while it lives: a bar on a terminal, elsewhere a line every few
// seconds.
class ProgressLine {
 public:
  explicit ProgressLine(const ToolProgress& progress);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void Show(double seconds);

  const ToolProgress& progress_;
  const bool terminal_;
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_CONSOLE_H_
