// What the tools tell: what is wrong where, and how far they are. Plain values.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_REPORT_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_REPORT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/values/time.h"

namespace tallyd {

// Something that is not what was written.
struct Finding {
  std::string file;
  std::optional<uint64_t> offset;  // Of a part of the file; null: all of it.
  uint64_t bytes = 0;              // Of that part.
  std::string problem;
  // What it holds, as far as something else tells.
  std::string table;
  std::optional<TimeRange> times;
  std::string first_key;
  std::string last_key;
};

inline Finding FindingOf(std::string file, std::string problem) {
  Finding finding;
  finding.file = std::move(file);
  finding.problem = std::move(problem);
  return finding;
}

// How far a tool is; read by whoever shows it, on another thread.
struct ToolProgress {
  std::atomic<const char*> step{""};  // A literal: "reading block files".
  std::atomic<uint64_t> done{0};      // Bytes.
  std::atomic<uint64_t> total{0};     // 0: not known.
  std::atomic<bool> stop{false};      // Set from outside: the tool ends with kCancelled.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_REPORT_H_
