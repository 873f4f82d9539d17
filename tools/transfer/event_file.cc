#include "tools/transfer/event_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tallyd {
namespace {

constexpr size_t kReadBytes = 256u << 10;
constexpr uint64_t kHeadBytes = 4096;

bool IsBlank(std::string_view record, BodyKind kind) {
  const char* const kBlanks = kind == BodyKind::kCsv ? "\r\n" : " \t\r\n";
  return record.find_first_not_of(kBlanks) == std::string_view::npos;
}

// A line end of old, which would make one line of the whole file.
bool HasBareReturn(std::string_view header) {
  bool quoted = false;
  for (size_t at = 0; at < header.size(); ++at) {
    if (header[at] == '"') quoted = !quoted;
    if (header[at] == '\r' && !quoted && header.substr(at + 1, 1) != "\n") return true;
  }
  return false;
}

}  // namespace

void RemoveEvent(size_t event, FileBatch* batch) {
  const bool is_last = event + 1 == batch->starts.size();
  const size_t begin = batch->starts[event];
  const size_t end = is_last ? batch->body.size() : batch->starts[event + 1];
  batch->body.erase(begin, end - begin);
  for (size_t i = event + 1; i < batch->starts.size(); ++i) batch->starts[i] -= end - begin;
  batch->starts.erase(batch->starts.begin() + static_cast<std::ptrdiff_t>(event));
  batch->lines.erase(batch->lines.begin() + static_cast<std::ptrdiff_t>(event));
}

Result<EventFile> EventFile::Open(const std::string& path, BodyKind kind) {
  EventFile file;
  file.path_ = path == "-" ? "standard input" : path;
  file.kind_ = kind;
  std::error_code failed;
  if (path != "-" && std::filesystem::is_directory(path, failed)) {
    return Invalid(path + " is a directory");
  }
  file.file_.reset(path == "-" ? ::fdopen(::dup(STDIN_FILENO), "rb")
                               : std::fopen(path.c_str(), "rb"));
  if (!file.file_) return Error(ErrorCode::kNotFound, path + ": " + std::strerror(errno));
  if (path != "-") {
    const uintmax_t size = std::filesystem::file_size(path, failed);
    if (!failed) file.size_ = size;
  }
  if (kind == BodyKind::kNdjson) return file;
  const Result<std::string_view> header = file.Record();
  if (!header) return header.error();
  if (HasBareReturn(*header)) {
    return Invalid(file.path_ + ": its lines end with CR; they are to end with LF or CRLF");
  }
  file.header_ = *header;
  if (!file.header_.empty() && !file.header_.ends_with('\n')) file.header_.push_back('\n');
  file.Take(*header);
  file.behind_header_ = file.place_;
  return file;
}

Status EventFile::Seek(const EventPlace& place) {
  place_ = place.offset < behind_header_.offset ? behind_header_ : place;
  buffer_.clear();
  taken_ = 0;
  if (::fseeko(file_.get(), static_cast<off_t>(place_.offset), SEEK_SET) == 0) return {};
  return Error(ErrorCode::kIo, path_ + ": " + std::strerror(errno));
}

Result<bool> EventFile::ReadMore() {
  buffer_.erase(0, taken_);
  taken_ = 0;
  const size_t had = buffer_.size();
  if (had >= kLongestEvent) {
    return Invalid(fmt::format("{}:{}: an event takes more than {} MiB", path_, place_.line + 1,
                               kLongestEvent >> 20));
  }
  buffer_.resize(had + kReadBytes);
  const size_t read = std::fread(buffer_.data() + had, 1, kReadBytes, file_.get());
  buffer_.resize(had + read);
  if (std::ferror(file_.get()) != 0) {
    return Error(ErrorCode::kIo, path_ + ": " + std::strerror(errno));
  }
  return read > 0;
}

Result<std::string_view> EventFile::Record() {
  size_t seen = 0;
  bool quoted = false;
  while (true) {
    for (size_t at = taken_ + seen; at < buffer_.size(); ++at) {
      if (buffer_[at] == '"' && kind_ == BodyKind::kCsv) quoted = !quoted;
      if (buffer_[at] == '\n' && !quoted) {
        return std::string_view(buffer_).substr(taken_, at + 1 - taken_);
      }
    }
    seen = buffer_.size() - taken_;
    const Result<bool> more = ReadMore();
    if (!more) return more.error();
    if (!*more) return std::string_view(buffer_);
  }
}

void EventFile::Take(std::string_view record) {
  taken_ += record.size();
  place_.offset += record.size();
  place_.line += static_cast<uint64_t>(std::ranges::count(record, '\n'));
}

Result<bool> EventFile::Next(const BatchLimits& limits, FileBatch* batch) {
  *batch = {header_, {}, {}, place_, place_};
  while (batch->lines.size() < limits.events) {
    const Result<std::string_view> record = Record();
    if (!record) return record.error();
    if (record->empty()) break;
    if (!IsBlank(*record, kind_)) {
      const bool is_full = batch->body.size() + record->size() > limits.bytes;
      if (is_full && !batch->lines.empty()) break;
      batch->lines.push_back(place_.line + 1);
      batch->starts.push_back(batch->body.size());
      batch->body.append(*record);
      if (!record->ends_with('\n')) batch->body.push_back('\n');
    }
    Take(*record);
  }
  batch->to = place_;
  return !batch->lines.empty();
}

Result<std::string> EventFile::DigestBefore(uint64_t end) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path_.c_str(), "rb"));
  if (!file) return Error(ErrorCode::kNotFound, path_ + ": " + std::strerror(errno));
  std::string text;
  for (const uint64_t from : {uint64_t{0}, std::max(kHeadBytes, end) - kHeadBytes}) {
    std::string piece(static_cast<size_t>(std::min(end, kHeadBytes)), '\0');
    if (::fseeko(file.get(), static_cast<off_t>(from), SEEK_SET) != 0) {
      return Error(ErrorCode::kIo, path_ + ": " + std::strerror(errno));
    }
    piece.resize(std::fread(piece.data(), 1, piece.size(), file.get()));
    if (std::ferror(file.get()) != 0) return Error(ErrorCode::kIo, path_ + " cannot be read");
    text += piece;
  }
  return fmt::format("{:016x}", XXH64(text.data(), text.size(), 0));
}

}  // namespace tallyd
