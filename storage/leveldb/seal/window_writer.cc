#include "storage/leveldb/seal/window_writer.h"

#include <algorithm>

namespace tallyd {
namespace {

// What is spread over more windows goes to wider ones: each costs a file and its buffers.
constexpr int64_t kMaxWindows = 16;

}  // namespace

WindowWriter::WindowWriter(leveldb::Env* env, std::string directory, const BlockFileInfo& files,
                           const TimeRange& times, int64_t window_us,
                           std::atomic<uint64_t>* next_number)
    : env_(env), directory_(std::move(directory)), files_(files), next_number_(next_number) {
  files_.width = window_us;
  while ((times.to - 1) / files_.width - times.from / files_.width >= kMaxWindows) {
    files_.width *= 2;
  }
  first_window_ = times.from / files_.width * files_.width;
}

BlockFileWriter& WindowWriter::At(TimeUs window) {
  if (last_ != nullptr && window == last_window_) return *last_;
  std::unique_ptr<BlockFileWriter>& writer = writers_[window];
  if (!writer) {
    BlockFileInfo info = files_;
    info.number = (*next_number_)++;
    info.window = window;
    writer = std::make_unique<BlockFileWriter>(env_, directory_, info);
  }
  last_window_ = window;
  last_ = writer.get();
  return *writer;
}

BlockFileWriter& WindowWriter::only() { return At(first_window_); }

Status WindowWriter::Add(const WholeEntry& entry) {
  BlockFileWriter& writer = At(entry.time / files_.width * files_.width);
  const Status flushed = writer.FlushFull();
  if (!flushed) return flushed;
  if (entry.set != nullptr) {
    writer.builder().Add(entry.row_key, entry.time, *entry.set, entry.values);
  } else {
    writer.builder().Add(entry.row_key, entry.time, entry.columns, entry.values, nullptr);
  }
  return {};
}

Result<uint32_t> WindowWriter::AddRun(const KeyRun& run, std::span<const TimeUs> times,
                                      std::span<const RunColumn> columns) {
  const Status flushed = only().FlushFull();
  if (!flushed) return flushed.error();
  BlockBuilder& builder = only().builder();
  const size_t count = std::min(times.size(), builder.room());
  builder.AddRun(run, times.first(count), columns);
  return static_cast<uint32_t>(count);
}

Result<std::vector<BlockFilePtr>> WindowWriter::Finish() {
  std::vector<BlockFilePtr> files;
  for (auto& [window, writer] : writers_) {
    Result<BlockFilePtr> file = writer->Finish();
    if (!file) {
      for (const BlockFilePtr& finished : files) finished->Drop();
      return file.error();
    }
    if (*file) files.push_back(std::move(*file));
  }
  writers_.clear();
  last_ = nullptr;
  return files;
}

}  // namespace tallyd
