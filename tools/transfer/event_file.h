// EventFile: a file of events, NDJSON or CSV, as bodies to be sent: bounded in bytes and events,
// and the same ones whenever reading starts at the same place.
//
//   Result<EventFile> file = EventFile::Open(path, BodyKind::kNdjson);
//   file->Seek(place)  ...  while (*file->Next(limits, &batch)) ...
//
// A line, or a record of CSV, which may have line ends between quotes, is never split. Memory is
// bounded by the limits and by kLongestEvent. Not thread-safe.
#ifndef TALLYD_TOOLS_TRANSFER_EVENT_FILE_H_
#define TALLYD_TOOLS_TRANSFER_EVENT_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

enum class BodyKind : uint8_t { kNdjson, kCsv };

inline constexpr size_t kLongestEvent = 64u << 20;

// How far a file is read: the bytes, and the lines in them.
struct EventPlace {
  uint64_t offset = 0;
  uint64_t line = 0;
};

struct BatchLimits {
  size_t bytes = 0;   // Exceeded only by a single event.
  size_t events = 0;  // At least 1.
};

struct FileBatch {
  std::string body;             // CSV: begins with the header line.
  std::vector<uint64_t> lines;  // By event: the line that it begins on, from 1.
  std::vector<size_t> starts;   // By event: where it begins in the body.
  EventPlace from;
  EventPlace to;
};

// The batch without one of its events.
void RemoveEvent(size_t event, FileBatch* batch);

class EventFile {
 public:
  // "-" is standard input. Reads the header line of CSV. kNotFound, kIo, kInvalid name the file.
  static Result<EventFile> Open(const std::string& path, BodyKind kind);

  // REQUIRES: a place where a batch ended, or the beginning; not standard input.
  Status Seek(const EventPlace& place);
  // False: the file is at its end, and the batch is empty.
  Result<bool> Next(const BatchLimits& limits, FileBatch* batch);
  // What the first bytes before `end` are, and the last ones, at most 4 KiB each: tells one file
  // from another.
  Result<std::string> DigestBefore(uint64_t end);
  uint64_t size() const { return size_; }  // 0: not known.

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  // A record with its line end, viewing the buffer until the next call; empty at the end.
  Result<std::string_view> Record();
  Result<bool> ReadMore();
  void Take(std::string_view record);

  std::string path_;
  BodyKind kind_ = BodyKind::kNdjson;
  std::unique_ptr<std::FILE, Closer> file_;
  uint64_t size_ = 0;
  std::string header_;
  EventPlace behind_header_;
  EventPlace place_;  // Of what was taken last.
  std::string buffer_;
  size_t taken_ = 0;  // Of the buffer.
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_EVENT_FILE_H_
