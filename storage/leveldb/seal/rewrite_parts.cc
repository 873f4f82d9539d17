#include "storage/leveldb/seal/rewrite_parts.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tallyd {
namespace {

// Of the cells of one row and time. More are taken for as many others.
constexpr size_t kMaxOtherPrints = 64;

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

View::Files FilesCoveredBy(const View::Files& from, const View::Files& all, bool folded) {
  BlockFileInfo hull = HullOf(from);
  if (folded) hull.max_sequence = std::numeric_limits<uint64_t>::max();
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
      ageless_from_(plan->ageless_from()),
      has_aggregates_(HasAggregates(plan->table())),
      teller_(plan->telling()) {
  std::sort(others_.begin(), others_.end(), [](const BlockFilePtr& a, const BlockFilePtr& b) {
    return a->info().max_time > b->info().max_time;
  });
}

EntrySource* KeptEntries::Alone(std::string* bound, TimeUs* newer_than) {
  EntrySource* first = merge_.top();
  if (first == nullptr || next_in_group_ < group_.size()) return nullptr;
  const EntrySource* const next = merge_.NextOfOthers();
  const bool shared = next != nullptr && next->row_key() == first->row_key();
  if (shared && (next->time() == first->time() || plan_->counts_versions())) return nullptr;
  // What was read last may cover cells of it.
  const bool same_row = any_ && first->row_key() == row_;
  if (same_row && first->time() == time_) return nullptr;
  if (!same_row) plan_->BeginRow();
  bound->assign(next == nullptr ? std::string_view() : next->row_key());
  if (shared) bound->push_back('\0');
  *newer_than = shared ? next->time() : -1;
  return first;
}

Result<bool> KeptEntries::Next() {
  while (true) {
    if (next_in_group_ < group_.size()) {
      entry_ = std::move(group_[next_in_group_++]);
      return true;
    }
    if (merge_.top() == nullptr) return false;
    Status done = Read(&entry_);
    const bool in_group = (head_sequence_ || has_aggregates_) && IsFollowedByRewrite();
    if (done && in_group) done = ReadGroup();
    if (!done) return done.error();
    if (in_group) continue;
    if (head_sequence_) entry_.sequence = *head_sequence_;
    if (HasCell(entry_)) return true;
  }
}

// Several events may have written to one row at one time. entry_ is the latest; those of a head
// become one.
Status KeptEntries::ReadGroup() {
  group_.clear();
  next_in_group_ = 0;
  targets_.clear();
  folded_.Reset();
  for (bool more = true; more;) {
    if (!FoldCells(&entry_)) {
      return Error(ErrorCode::kCorruption, "a stored state of an aggregate is malformed");
    }
    if (HasCell(entry_)) group_.push_back(std::move(entry_));
    more = IsFollowedByRewrite();
    const Status read = more ? Read(&entry_) : Status();
    if (!read) return read;
  }
  PutFolded();
  if (!head_sequence_ || group_.empty()) return {};
  if (group_.size() > 1) {
    WholeEntry all = Join(group_);
    group_.clear();
    group_.push_back(std::move(all));  // A copy would view what is gone.
  }
  group_[0].sequence = *head_sequence_;
  return {};
}

// False: some input is no state.
bool KeptEntries::FoldCells(WholeEntry* entry) {
  bool good = true;
  for (const auto& [cell, column] : other_inputs_) {
    const Value value = std::exchange(entry->values[cell], Value());
    const auto target = targets_.find(column);
    if (target == targets_.end()) continue;  // It has expired, and so has this one.
    auto& [place, in_place, fold] = target->second;
    if (!fold) {
      const ColumnPlan::Pick& pick = plan_->Named(entry->column(cell));
      fold.emplace(*pick.rule->aggregate);
      good = fold->Add(group_[place].values[in_place]) && good;
    }
    good = fold->Add(value) && good;
  }
  for (const auto& [cell, column] : first_inputs_) targets_[column] = {group_.size(), cell, {}};
  return good;
}

void KeptEntries::PutFolded() {
  std::string bytes;
  for (const auto& [column, target] : targets_) {
    if (!target.fold) continue;
    const Value state = target.fold->Get(&bytes);
    group_[target.entry].values[target.cell] =
        state.type() == ValueType::kBytes ? Value::Bytes(folded_.Copy(bytes)) : state;
  }
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
  first_inputs_.clear();
  other_inputs_.clear();
  if (!rewrites_) {
    latest_prints_.clear();
    other_prints_.clear();
    teller_.Begin();
  }
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
  std::optional<bool> elsewhere;
  const bool is_compared = rewrites_ || IsFollowedByRewrite();
  for (size_t i = 0; i < entry->values.size(); ++i) {
    if (entry->values[i].is_null()) continue;
    const ColumnRef column = entry->column(i);
    bool keep = !Hides(column);
    if (!keep) ++dropped_.deleted;
    if (keep) {
      const ColumnPlan::Pick& pick = plan_->Named(column);
      // A column of a family that this plan's table does not know yet is none of its business.
      const CellMerge::Fate fate = pick.selected ? cells_.Take(pick.number, entry->time, *pick.rule)
                                                 : CellMerge::Fate::kLive;
      if (fate == CellMerge::Fate::kExpired && !elsewhere) elsewhere = MayBeElsewhere(*entry);
      const bool folds = fate == CellMerge::Fate::kFolds;
      if (is_compared && pick.selected && !pick.rule->aggregate) {
        Compare(pick, fate, entry->values[i]);
      }
      keep = folds || fate == CellMerge::Fate::kLive ||
             (fate == CellMerge::Fate::kExpired && *elsewhere);
      if (keep && pick.selected && pick.rule->aggregate) {
        (folds ? other_inputs_ : first_inputs_).emplace_back(i, pick.number);
      }
      if (!keep) CountDropped(fate, entry->time < pick.rule->oldest);
    }
    if (!keep) entry->values[i] = Value();
  }
  if (is_compared && !plan_->telling().empty()) CountMerged();
}

// A cell of a row and time to which several wrote.
void KeptEntries::Compare(const ColumnPlan::Pick& pick, CellMerge::Fate fate, const Value& value) {
  const uint64_t print = PrintOf(value);
  if (pick.tells >= 0) {
    teller_.Take(static_cast<size_t>(pick.tells), pick.name.qualifier, value);
  }
  if (pick.number >= latest_prints_.size()) latest_prints_.resize(pick.number + 1, 0);
  uint64_t& latest = latest_prints_[pick.number];
  if (fate != CellMerge::Fate::kCovered || latest == 0) {
    latest = latest == 0 ? print : latest;
    return;
  }
  if (latest == print) return;
  const std::pair other(pick.number, print);
  if (std::ranges::find(other_prints_, other) != other_prints_.end()) return;
  if (other_prints_.size() < kMaxOtherPrints) other_prints_.push_back(other);
  if (std::exchange(generation_, plan_->generation()) != plan_->generation()) differs_.clear();
  if (pick.number >= differs_.size()) differs_.resize(pick.number + 1, 0);
  size_t& place = differs_[pick.number];
  if (place == 0 && merges_.columns.size() > MergeCounts::kMaxColumns) return;
  if (place == 0) {
    merges_.columns.push_back({{pick.name.family, std::string(pick.name.qualifier)}, 0});
    place = merges_.columns.size();
  }
  ++merges_.columns[place - 1].events;
}

void KeptEntries::CountMerged() {
  if (teller_.IsAnother()) merges_.Add(RowWatch::PlaceOf(row_, time_), 1);
}

void KeptEntries::CountDropped(CellMerge::Fate fate, bool is_aged) {
  if (fate == CellMerge::Fate::kCovered) {
    ++dropped_.overwritten;
  } else {
    ++(is_aged ? dropped_.aged : dropped_.outdated);
  }
}

// Whether a file that is not looked at may have an older write to a cell of the entry, or, where
// they count together, any other.
bool KeptEntries::MayBeElsewhere(const WholeEntry& entry) const {
  for (const BlockFilePtr& file : others_) {
    const BlockFileInfo& info = file->info();
    if (info.max_time < entry.time) return false;
    if ((has_aggregates_ || info.min_sequence < entry.sequence) && info.min_time <= entry.time &&
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

// The cells of all, in read order. None is in two.
WholeEntry KeptEntries::Join(const std::vector<WholeEntry>& entries) const {
  std::vector<std::pair<ColumnRef, Value>> cells;
  size_t text_bytes = 0;
  for (const WholeEntry& entry : entries) {
    for (size_t i = 0; i < entry.values.size(); ++i) {
      const Value& value = entry.values[i];
      if (value.is_null()) continue;
      cells.emplace_back(entry.column(i), value);
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
  WholeEntry all;
  all.row_key = entries.front().row_key;
  all.time = entries.front().time;
  all.sequence = entries.front().sequence;
  all.bytes.reserve(text_bytes);
  for (auto& [column, value] : cells) {
    all.names.push_back({column.family, std::string(column.qualifier)});
    if (value.type() >= ValueType::kString) {
      const std::string_view text = value.AsView();
      const char* copy = all.bytes.data() + all.bytes.size();
      all.bytes.insert(all.bytes.end(), text.begin(), text.end());
      value = value.type() == ValueType::kString ? Value::String({copy, text.size()})
                                                 : Value::Bytes({copy, text.size()});
    }
    all.values.push_back(value);
  }
  for (const Column& name : all.names) all.columns.push_back(name.ref());
  return all;
}

WindowWriter::WindowWriter(Options options) : options_(std::move(options)) {}

// The narrowest window that is open or may be opened.
BlockFileWriter& WindowWriter::At(TimeUs time) {
  if (IsOfLast(time)) return *last_;
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
    auto writer = std::make_unique<BlockFileWriter>(options_.shelf, options_.table, info,
                                                    options_.bounds, options_.sources);
    found = writers_.emplace(window, std::move(writer)).first;
  }
  last_window_ = window;
  last_ = found->second.get();
  return *last_;
}

Status WindowWriter::MakeRoomFor(const EntryId& id, size_t columns) {
  return At(id.time).FlushFull(id.row_key, id.time, columns);
}

Status WindowWriter::Add(const EntryId& id, const StoredCells& cells) {
  const auto name = [&](size_t i) {
    return cells.set != nullptr ? cells.set->columns[i].ref() : cells.columns[i];
  };
  size_t bytes = 0;
  for (const Value& value : cells.values) bytes += value.text_size();
  if (IsWide(cells.values.size(), bytes)) {
    std::vector<ColumnRef> columns;
    for (size_t i = 0; i < cells.values.size(); ++i) columns.push_back(name(i));
    return AddParts(id, columns, cells.values);
  }
  const Status made = MakeRoomFor(id, cells.values.size());
  if (!made) return made;
  if (cells.set != nullptr) {
    last_->builder().Add(id, *cells.set, cells.values);
  } else {
    last_->builder().Add(id, cells.columns, cells.values, nullptr);
  }
  return {};
}

Result<StoredEntry> WindowWriter::AddWide(const EntryId& id, const ColumnSet& set,
                                          std::string_view values, bool is_whole) {
  std::vector<ColumnRef> columns;
  std::vector<Value> decoded;
  ByteReader in(values);
  for (const Column& column : set.columns) {
    Value value;
    if (!DecodeValue(&in, &value) || (is_whole && value.is_null())) return StoredEntry::kMalformed;
    if (value.is_null()) continue;
    columns.push_back(column.ref());
    decoded.push_back(value);
  }
  if (!in.done() || (is_whole && decoded.empty())) return StoredEntry::kMalformed;
  if (decoded.empty()) return StoredEntry::kNothing;
  const Status added = AddParts(id, columns, decoded);
  if (!added) return added.error();
  return StoredEntry::kAdded;
}

// Each part but the last fills a block of its own; what came before is in another.
Status WindowWriter::AddParts(const EntryId& id, std::span<const ColumnRef> columns,
                              std::span<const Value> values) {
  BlockFileWriter& writer = At(id.time);
  for (size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
    size_t bytes = 0;
    size_t cells = 0;
    for (; end < columns.size(); ++end) {
      if (values[end].is_null()) continue;
      const bool is_full = IsWide(cells + 1, bytes);
      if (is_full) break;
      bytes += values[end].text_size() + columns[end].qualifier.size();
      ++cells;
    }
    if (cells == 0) break;  // What is left is absent.
    const Status flushed = writer.FlushBeforePart(id.row_key, id.time);
    if (!flushed) return flushed;
    writer.builder().Add(id, columns.subspan(begin, end - begin),
                         values.subspan(begin, end - begin), nullptr);
  }
  return {};
}

Result<size_t> WindowWriter::MakeRoom(std::span<const TimeUs> times, size_t columns) {
  BlockFileWriter& writer = At(times.front());
  const auto outside =
      std::ranges::find_if(times, [&](TimeUs time) { return !last_window_.Contains(time); });
  // What was added last is of another row or time than the run: it may be flushed.
  const Status flushed = writer.FlushBeforeRun(columns);
  if (!flushed) return flushed.error();
  return std::min(static_cast<size_t>(outside - times.begin()), writer.builder().room());
}

Result<uint32_t> WindowWriter::AddRun(const KeyRun& run, const RunEntries& entries,
                                      std::span<const BlockColumn> columns) {
  const Result<size_t> room = MakeRoom(entries.times, columns.size());
  if (!room) return room.error();
  last_->builder().AddRun(run, entries.First(*room), columns);
  return static_cast<uint32_t>(*room);
}

Result<uint32_t> WindowWriter::AddRun(const KeyRun& run, const RunEntries& entries,
                                      std::span<const EntryColumns> columns) {
  const Result<size_t> room = MakeRoom(entries.times, columns.front().columns.size());
  if (!room) return room.error();
  return static_cast<uint32_t>(
      last_->builder().AddRun(run, entries.First(*room), columns.first(*room)));
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
