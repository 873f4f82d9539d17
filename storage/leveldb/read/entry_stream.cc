#include "storage/leveldb/read/entry_stream.h"

#include <algorithm>
#include <limits>

namespace tallyd {
namespace {

constexpr TimeUs kEver = std::numeric_limits<TimeUs>::min();

// Before which time a family's cells go for good: by age alone, and only what is configured.
TimeUs OldestOf(const StoredFamily& family, TimeUs now) {
  const Family& rules = family.rules;
  const bool by_age_alone = !(rules.expire_by_both && rules.max_versions);
  return family.configured && rules.max_age_us && by_age_alone ? now - *rules.max_age_us : kEver;
}

}  // namespace

EntryStream::EntryStream(TablePtr table, DeleteList deletes, TimeUs now)
    : table_(std::move(table)), deletes_(std::move(deletes)), oldest_of_any_(kEver) {
  for (const StoredFamily& family : table_->families) {
    oldest_.push_back(OldestOf(family, now));
    oldest_of_any_ = std::max(oldest_of_any_, oldest_.back());
  }
}

EntrySource* EntryStream::FirstOf() const {
  EntrySource* first = nullptr;
  for (EntrySource* source : sources_) {
    if (source->valid() && (first == nullptr || source->Precedes(*first))) first = source;
  }
  return first;
}

EntrySource* EntryStream::Alone(std::string* bound, bool* bounded) {
  EntrySource* first = FirstOf();
  *bounded = false;
  if (first == nullptr) return nullptr;
  for (EntrySource* source : sources_) {
    if (source == first || !source->valid()) continue;
    if (source->row_key() == first->row_key()) return nullptr;
    if (!*bounded || source->row_key() < *bound) bound->assign(source->row_key());
    *bounded = true;
  }
  return first;
}

Result<bool> EntryStream::Next() {
  while (true) {
    EntrySource* first = FirstOf();
    if (first == nullptr) return false;
    const Status merged = Merge(first);
    if (!merged) return merged.error();
    const bool has_cell = std::any_of(entry_.values.begin(), entry_.values.end(),
                                      [](const Value& value) { return !value.is_null(); });
    if (has_cell) return true;
  }
}

// Reads all entries of one row and time, the later commit first.
Status EntryStream::Merge(EntrySource* newest) {
  Status done = newest->Read(&entry_);
  if (done) done = newest->Next();
  if (!done) return done;
  if (!deletes_.empty() || entry_.time < oldest_of_any_) DropCells();
  while (true) {
    EntrySource* next = FirstOf();
    if (next == nullptr || next->time() != entry_.time || next->row_key() != entry_.row_key) {
      return {};
    }
    // Two writes to one row and time are rare: no need to be quick about them.
    std::swap(entry_, other_);
    done = next->Read(&entry_);
    if (done) done = next->Next();
    if (!done) return done;
    if (!deletes_.empty() || entry_.time < oldest_of_any_) DropCells();
    entry_ = MergeCells(other_, entry_);
  }
}

// The cells of both, in read order; of a column in both that of `later`.
WholeEntry EntryStream::MergeCells(const WholeEntry& later, const WholeEntry& earlier) const {
  std::vector<std::pair<ColumnRef, Value>> cells;
  size_t text_bytes = 0;
  for (const WholeEntry* entry : {&later, &earlier}) {
    for (size_t i = 0; i < entry->values.size(); ++i) {
      const ColumnRef column = entry->column(i);
      const bool known = std::any_of(cells.begin(), cells.end(),
                                     [&](const auto& cell) { return cell.first == column; });
      if (known || entry->values[i].is_null()) continue;
      cells.emplace_back(column, entry->values[i]);
      if (entry->values[i].type() >= ValueType::kString) {
        text_bytes += entry->values[i].AsView().size();
      }
    }
  }
  std::sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
    const auto rank_a = table_->family_rank[a.first.family];
    const auto rank_b = table_->family_rank[b.first.family];
    return rank_a != rank_b ? rank_a < rank_b : a.first.qualifier < b.first.qualifier;
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

// Takes out of the entry what is hidden or past its age.
void EntryStream::DropCells() {
  hiding_.clear();
  for (const auto& deleted : deletes_) {
    if (deleted->CoversRow(entry_.row_key) && deleted->HidesTime(entry_.time, entry_.sequence)) {
      hiding_.push_back(deleted);
    }
  }
  if (hiding_.empty() && entry_.time >= oldest_of_any_) return;
  for (size_t i = 0; i < entry_.values.size(); ++i) {
    const ColumnRef column = entry_.column(i);
    const bool aged = column.family < oldest_.size() && entry_.time < oldest_[column.family];
    if (aged || Hides(column)) entry_.values[i] = Value();
  }
}

bool EntryStream::Hides(const ColumnRef& column) const {
  return std::any_of(hiding_.begin(), hiding_.end(),
                     [&](const auto& deleted) { return deleted->HidesColumn(column); });
}

}  // namespace tallyd
