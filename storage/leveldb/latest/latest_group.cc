#include "storage/leveldb/latest/latest_group.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr size_t kManyRows = 100'000;
// A delete of less than this part of rows_at_once is not worth a record, by which everybody has to
// go who looks at the table.
constexpr uint64_t kFewRowsShare = 16;

// Whether the row, as it was made just now, is this layer and nothing else.
bool IsOnlyLayer(std::string_view row, const Layer& layer) {
  ByteReader in(row);
  uint64_t count = 0;
  uint64_t time = 0;
  uint64_t sequence = 0;
  return in.GetVarint(&count) && count == 1 && in.GetVarint(&time) && in.GetVarint(&sequence) &&
         time == static_cast<uint64_t>(layer.time) && sequence == layer.sequence;
}

// Whether its start is the only key that can lie in the range.
bool IsOneKey(const KeyRange& range) {
  return range.end.size() == range.start.size() + 1 && range.end.back() == '\0' &&
         range.end.starts_with(range.start);
}

using Places = std::pair<LatestRows::Place, LatestRows::Place>;

// From the first row of the range to behind its last one; the same if there is none.
Places PlacesOf(const LatestRows& rows, const KeyRange& range) {
  const LatestRows::Place begin = rows.BeginOf(range);
  if (!IsOneKey(range)) return {begin, std::max(begin, rows.EndOf(range))};
  const bool is_there = begin != rows.end() && rows.At(begin).key() == range.start;
  return {begin, is_there ? rows.Next(begin) : begin};
}

// Appends those that cover the row.
void AddCovering(const DeleteList& list, const LatestKey& key, LatestTrim* trim) {
  for (const auto& deleted : list) {
    if (deleted->table == key.table && deleted->CoversRow(key.key)) {
      trim->deletes.push_back(deleted.get());
    }
  }
}

}  // namespace

void LatestGroup::Clear() {
  // A map keeps the room that very many rows took.
  if (rows_.bucket_count() > kManyRows) rows_ = LatestChanges();
  rows_.clear();
  new_rows_.clear();
  deleted_rows_ = 0;
  added_.clear();
  oldest_.clear();
}

LatestChange& LatestGroup::ChangeOf(const LatestKey& key) {
  const auto [place, first] = rows_.try_emplace(key);
  LatestChange& change = place->second;
  if (!first) return change;
  change.stored = tables_->Find(key);
  if (change.stored == nullptr) new_rows_.push_back(key);
  return change;
}

Result<LatestChange*> LatestGroup::Touch(const LatestKey& key) {
  LatestChange& change = ChangeOf(key);
  if (!deletes_->any() && added_.empty()) return &change;
  LatestTrim trim;
  const DeleteListPtr pending = deletes_->Of(key.table);
  AddCovering(*pending, key, &trim);
  AddCovering(added_, key, &trim);
  const Result<bool> applied = Apply(key, trim, &change);
  if (!applied) return applied.error();
  change.recorded = change.recorded || *applied;
  return &change;
}

Result<bool> LatestGroup::Apply(const LatestKey& key, const LatestTrim& trim,
                                LatestChange* change) {
  const std::string_view before = change->value();
  if (before.empty() || trim.empty()) return false;
  const Result<std::string_view> left = merge_.Trim(key.table, before, trim);
  if (!left) return left.error();
  if (left->data() == before.data()) return false;
  Set(key, *left, change);
  return true;
}

void LatestGroup::Set(const LatestKey& key, std::string_view row, LatestChange* change) {
  change->row = row.empty() ? nullptr : StoredRow::Make(key.key, row);
  change->changed = true;
  change->twin.reset();
}

Status LatestGroup::Put(const LatestKey& key, TableMode mode, const Layer& layer,
                        const std::optional<LatestTwin>& twin) {
  const Result<LatestChange*> touched = Touch(key);
  if (!touched) return touched.error();
  LatestChange& change = **touched;
  const std::string_view before = change.value();
  const Result<std::string_view> row = merge_.Put(key.table, mode, before, layer);
  if (!row) return row.error();
  if (*row == before) return {};
  Set(key, *row, &change);
  change.recorded = true;
  if (twin && IsOnlyLayer(change.value(), layer)) change.twin = twin;
  TimeUs& oldest = oldest_.try_emplace(key.table, layer.time).first->second;
  oldest = std::min(oldest, layer.time);
  return {};
}

Result<bool> LatestGroup::Delete(const std::shared_ptr<const DeleteRange>& deleted) {
  const TableId table = deleted->table;
  const LatestRows& rows = tables_->Of(table);
  const auto [begin, end] = PlacesOf(rows, deleted->what.rows);
  const uint64_t covered = rows.Distance(begin, end);
  const bool few = covered == 0 || covered < rows_at_once_ / kFewRowsShare;
  if (!few && deleted_rows_ + covered > rows_at_once_) {
    added_.push_back(deleted);
    return true;
  }
  deleted_rows_ += covered;
  LatestTrim trim;
  trim.deletes.push_back(deleted.get());
  std::vector<LatestKey> keys;
  for (auto at = begin; at < end; at = rows.Next(at)) keys.push_back({table, rows.At(at).key()});
  AddNewRows(*deleted, &keys);
  for (const LatestKey& key : keys) {
    const Result<LatestChange*> touched = Touch(key);
    if (!touched) return touched.error();
    const Result<bool> applied = Apply(key, trim, *touched);
    if (!applied) return applied.error();
    (*touched)->recorded = (*touched)->recorded || *applied;
  }
  return false;
}

// A request may name 100,000 rows, each in a delete of its own.
void LatestGroup::AddNewRows(const DeleteRange& deleted, std::vector<LatestKey>* covered) const {
  const KeyRange& rows = deleted.what.rows;
  if (IsOneKey(rows)) {
    const auto row = rows_.find({deleted.table, rows.start});
    if (row != rows_.end() && row->second.stored == nullptr) covered->push_back(row->first);
    return;
  }
  for (const LatestKey& key : new_rows_) {
    if (key.table == deleted.table && deleted.CoversRow(key.key)) covered->push_back(key);
  }
}

Result<std::optional<std::string_view>> LatestGroup::Trim(const LatestKey& key, uint64_t deletes,
                                                          std::span<const TimeUs> oldest,
                                                          bool in_heads) {
  LatestChange& change = ChangeOf(key);
  LatestTrim trim;
  trim.oldest = oldest;
  const DeleteListPtr pending = deletes_->Of(key.table);
  AddCovering(*pending, key, &trim);
  std::erase_if(trim.deletes, [&](const auto* range) { return range->sequence > deletes; });
  const Result<bool> applied = Apply(key, trim, &change);
  if (!applied) return applied.error();
  change.recorded = change.recorded || (*applied && in_heads && !oldest.empty());
  std::optional<std::string_view> left;
  if (*applied && !change.recorded) left = change.value();
  return left;
}

std::string_view LatestGroup::ToStore(const LatestKey& key) const {
  const auto changed = rows_.find(key);
  if (changed != rows_.end() && !changed->second.recorded) return changed->second.value();
  const StoredRowPtr* const stored =
      changed == rows_.end() ? tables_->Find(key) : changed->second.stored;
  return stored == nullptr ? std::string_view() : (*stored)->value();
}

void LatestGroup::AppendChanges(std::string* record) const {
  std::string twin;
  for (const auto& [key, change] : rows_) {
    if (!change.recorded) continue;
    // Empty: the row is gone. A head remembers that until it is sealed.
    std::string_view row = change.value();
    if (change.twin) {
      EncodeLatestTwin(*change.twin, &twin);
      row = twin;
    }
    AppendLatestChange({key.table, key.key, row}, record);
  }
}

// The deletes come last: who goes by them sees what else the group did.
void LatestGroup::Publish() {
  if (rows_.empty() && added_.empty()) return;
  tables_->Publish(&rows_, oldest_);
  deletes_->Add(added_);
}

// The keys must be those of the rows, then.
void LatestGroup::MoveTo(LatestChanges* changes, LatestTimes* oldest) {
  for (auto& [key, change] : rows_) {
    if (!change.changed || (!change.row && change.stored == nullptr)) continue;
    const StoredRow& row = change.row ? *change.row : **change.stored;
    changes->emplace(LatestKey{key.table, row.key()}, std::move(change));
  }
  *oldest = std::move(oldest_);
  Clear();
}

}  // namespace tallyd
