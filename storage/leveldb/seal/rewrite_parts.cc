#include "storage/leveldb/seal/rewrite_parts.h"

#include <algorithm>
#include <iterator>

namespace tallyd {
namespace {

// A file that covers whatever one of these may cover.
BlockFileInfo HullOf(const View::Files& files) {
  BlockFileInfo hull = files.front()->info();
  for (const BlockFilePtr& file : files) {
    const BlockFileInfo& info = file->info();
    hull.max_sequence = std::max(hull.max_sequence, info.max_sequence);
    hull.min_time = std::min(hull.min_time, info.min_time);
    hull.max_time = std::max(hull.max_time, info.max_time);
    hull.first_key = std::min(hull.first_key, info.first_key);
    hull.last_key = std::max(hull.last_key, info.last_key);
  }
  return hull;
}

bool HasCell(const WholeEntry& entry) {
  return std::any_of(entry.values.begin(), entry.values.end(),
                     [](const Value& value) { return !value.is_null(); });
}

}  // namespace

View::Files FilesCoveredBy(const View::Files& from, const View::Files& all) {
  const BlockFileInfo hull = HullOf(from);
  View::Files covered;
  std::ranges::copy_if(all, std::back_inserter(covered), [&](const BlockFilePtr& file) {
    return hull.MayCover(file->info()) && std::find(from.begin(), from.end(), file) == from.end();
  });
  return covered;
}

View::Files FilesCoveredBy(const std::optional<TimeRange>& times, const View::Files& all) {
  if (!times || times->is_empty()) return all;
  View::Files covered;
  std::ranges::copy_if(all, std::back_inserter(covered),
                       [&](const BlockFilePtr& file) { return file->info().Overlaps(*times); });
  return covered;
}

KeptEntries::KeptEntries(ColumnPlan* plan, DeleteList deletes, View::Files others,
                         std::optional<uint64_t> head_sequence)
    : plan_(plan),
      deletes_(std::move(deletes)),
      others_(std::move(others)),
      head_sequence_(head_sequence),
      ageless_from_(plan->ageless_from()) {
  std::sort(others_.begin(), others_.end(), [](const BlockFilePtr& a, const BlockFilePtr& b) {
    return a->info().max_time > b->info().max_time;
  });
}

EntrySource* KeptEntries::Alone(std::string* bound) {
  EntrySource* first = merge_.top();
  if (first == nullptr) return nullptr;
  const std::optional<std::string_view> others = merge_.NextRowOfOthers();
  if (others == first->row_key()) return nullptr;
  // What was read last may cover cells of it.
  const bool same_row = any_ && first->row_key() == row_;
  if (same_row && first->time() == time_) return nullptr;
  if (!same_row) plan_->BeginRow();
  bound->assign(others.value_or(std::string_view()));
  return first;
}

Result<bool> KeptEntries::Next() {
  while (merge_.top() != nullptr) {
    Status done = Read(&entry_);
    if (done && head_sequence_) done = Fold();
    if (!done) return done.error();
    if (HasCell(entry_)) return true;
  }
  return false;
}

// Reads the next entry, without the cells that are not to be kept.
Status KeptEntries::Read(WholeEntry* entry) {
  EntrySource* source = merge_.top();
  const bool same_row = any_ && source->row_key() == row_;
  rewrites_ = same_row && source->time() == time_;
  if (!same_row) {
    plan_->BeginRow();
    cells_.BeginRow();
    row_.assign(source->row_key());
  }
  time_ = source->time();
  any_ = true;
  Status done = source->Read(entry);
  if (done) done = merge_.Next();
  if (done && NeedsLook(*entry)) DropCells(entry);
  return done;
}

bool KeptEntries::IsFollowedByRewrite() const {
  const EntrySource* next = merge_.top();
  return next != nullptr && next->time() == time_ && next->row_key() == row_;
}

bool KeptEntries::NeedsLook(const WholeEntry& entry) const {
  return !deletes_.empty() || entry.time < ageless_from_ || plan_->counts_versions() || rewrites_ ||
         IsFollowedByRewrite();
}

void KeptEntries::DropCells(WholeEntry* entry) {
  hiding_.clear();
  for (const auto& deleted : deletes_) {
    if (deleted->CoversRow(entry->row_key) && deleted->HidesTime(entry->time, entry->sequence)) {
      hiding_.push_back(deleted);
    }
  }
  std::optional<bool> covers;  // An older write that lies elsewhere, maybe.
  for (size_t i = 0; i < entry->values.size(); ++i) {
    if (entry->values[i].is_null()) continue;
    const ColumnRef column = entry->column(i);
    bool keep = !Hides(column);
    if (keep) {
      const ColumnPlan::Pick& pick = plan_->Named(column);
      // A column of a family that this plan's table does not know yet is none of its business.
      const CellMerge::Fate fate = pick.selected ? cells_.Take(pick.number, entry->time, *pick.rule)
                                                 : CellMerge::Fate::kLive;
      if (fate == CellMerge::Fate::kExpired && !covers) covers = MayCoverElsewhere(*entry);
      keep = fate == CellMerge::Fate::kLive || (fate == CellMerge::Fate::kExpired && *covers);
    }
    if (!keep) entry->values[i] = Value();
  }
}

bool KeptEntries::MayCoverElsewhere(const WholeEntry& entry) const {
  for (const BlockFilePtr& file : others_) {
    const BlockFileInfo& info = file->info();
    if (info.max_time < entry.time) return false;
    if (info.min_sequence < entry.sequence && info.min_time <= entry.time &&
        info.first_key <= entry.row_key && entry.row_key <= info.last_key) {
      return true;
    }
  }
  return false;
}

bool KeptEntries::Hides(const ColumnRef& column) const {
  return std::any_of(hiding_.begin(), hiding_.end(),
                     [&](const auto& deleted) { return deleted->HidesColumn(column); });
}

// Several events of one head may have written to one row at one time.
Status KeptEntries::Fold() {
  while (IsFollowedByRewrite()) {
    std::swap(entry_, other_);
    const Status read = Read(&entry_);
    if (!read) return read;
    if (!HasCell(entry_)) {
      std::swap(entry_, other_);
    } else if (HasCell(other_)) {
      entry_ = Join(other_, entry_);
    }
  }
  entry_.sequence = *head_sequence_;
  return {};
}

// The cells of both, in read order. None is in both.
WholeEntry KeptEntries::Join(const WholeEntry& later, const WholeEntry& earlier) const {
  std::vector<std::pair<ColumnRef, Value>> cells;
  size_t text_bytes = 0;
  for (const WholeEntry* entry : {&later, &earlier}) {
    for (size_t i = 0; i < entry->values.size(); ++i) {
      const Value& value = entry->values[i];
      if (value.is_null()) continue;
      cells.emplace_back(entry->column(i), value);
      if (value.type() >= ValueType::kString) text_bytes += value.AsView().size();
    }
  }
  const std::vector<uint16_t>& rank = plan_->table().family_rank;
  std::sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
    const ColumnRef& left = a.first;
    const ColumnRef& right = b.first;
    if (left.family != right.family) return rank[left.family] < rank[right.family];
    return left.qualifier < right.qualifier;
  });
  WholeEntry both;
  both.row_key = later.row_key;
  both.time = later.time;
  both.sequence = later.sequence;
  both.bytes.reserve(text_bytes);
  for (auto& [column, value] : cells) {
    both.names.push_back({column.family, std::string(column.qualifier)});
    if (value.type() >= ValueType::kString) {
      const std::string_view text = value.AsView();
      const char* copy = both.bytes.data() + both.bytes.size();
      both.bytes.insert(both.bytes.end(), text.begin(), text.end());
      value = value.type() == ValueType::kString ? Value::String({copy, text.size()})
                                                 : Value::Bytes({copy, text.size()});
    }
    both.values.push_back(value);
  }
  for (const Column& name : both.names) both.columns.push_back(name.ref());
  return both;
}

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
