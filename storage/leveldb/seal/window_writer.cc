#include "storage/leveldb/seal/window_writer.h"

#include <algorithm>

namespace tallyd {

WindowWriter::WindowWriter(Options options) : options_(std::move(options)) {}

// The narrowest window that is open or may be opened.
BlockFileWriter& WindowWriter::At(TimeUs time) {
  if (last_ != nullptr && last_window_.Contains(time)) return *last_;
  Window window{options_.width, time / options_.width * options_.width};
  auto found = writers_.find(window);
  while (found == writers_.end() && open_[window.width] >= kOpenWindows &&
         window.width <= kMaxTimeUs) {
    window.width *= kOpenWindows;
    window.begin = time / window.width * window.width;
    found = writers_.find(window);
  }
  if (found == writers_.end()) {
    BlockFileInfo info;
    info.number = (*options_.next_file)++;
    info.deletes = options_.deletes;
    info.window = window.begin;
    info.width = window.width;
    ++open_[window.width];
    auto writer = std::make_unique<BlockFileWriter>(options_.shelf, options_.table, info);
    found = writers_.emplace(window, std::move(writer)).first;
  }
  last_window_ = window;
  last_ = found->second.get();
  return *last_;
}

Status WindowWriter::Add(const WholeEntry& entry) {
  BlockFileWriter& writer = At(entry.time);
  const Status flushed = writer.FlushFull(entry.row_key, entry.time);
  if (!flushed) return flushed;
  const EntryId id{entry.row_key, entry.time, entry.sequence};
  if (entry.set != nullptr) {
    writer.builder().Add(id, *entry.set, entry.values);
  } else {
    writer.builder().Add(id, entry.columns, entry.values, nullptr);
  }
  return {};
}

Result<uint32_t> WindowWriter::AddRun(const KeyRun& run, const RunEntries& entries,
                                      std::span<const RunColumn> columns) {
  BlockFileWriter& writer = At(entries.times.front());
  const auto outside = std::find_if(entries.times.begin(), entries.times.end(),
                                    [&](TimeUs time) { return !last_window_.Contains(time); });
  // What was added last is of another row or time than the run: it may be flushed.
  const Status flushed = writer.FlushFull({}, 0);
  if (!flushed) return flushed.error();
  const auto inside = static_cast<size_t>(outside - entries.times.begin());
  const size_t count = std::min(inside, writer.builder().room());
  writer.builder().AddRun(run, {entries.times.first(count), entries.sequences.first(count)},
                          columns);
  return static_cast<uint32_t>(count);
}

Result<bool> WindowWriter::AddBlock(const BlockPlace& place, std::string_view bytes,
                                    const BlockFileInfo& from) {
  BlockFileWriter& writer = At(place.min_time);
  if (!last_window_.Contains(place.max_time)) return false;
  const Status added = writer.AddBlock(place, bytes, from.min_sequence, from.max_sequence);
  if (!added) return added.error();
  return true;
}

Result<std::vector<std::unique_ptr<BlockFileWriter>>> WindowWriter::Complete() {
  std::vector<std::unique_ptr<BlockFileWriter>> written;
  for (auto& [window, writer] : writers_) {
    if (writer->empty()) continue;
    const Status completed = writer->Complete();
    if (!completed) return completed.error();
    written.push_back(std::move(writer));
  }
  writers_.clear();
  last_ = nullptr;
  return written;
}

}  // namespace tallyd
