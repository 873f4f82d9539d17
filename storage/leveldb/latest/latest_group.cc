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
  // Both keep the room that very many rows took.
  if (changes_.capacity() > kManyRows) changes_ = LatestChanges();
  if (new_rows_.bucket_count() > kManyRows) new_rows_ = {};
  changes_.clear();
  last_rows_ = nullptr;
  next_foreseen_ = kForeseen;
  new_rows_.clear();
  deleted_rows_ = 0;
  added_.clear();
  oldest_.clear();
}

const LatestRows& LatestGroup::RowsOf(TableId table) {
  if (last_rows_ == nullptr || last_table_ != table) {
    last_table_ = table;
    last_rows_ = &tables_->Of(table);
  }
  return *last_rows_;
}

void LatestGroup::Foresee(std::span<const LatestKey> keys) {
  next_foreseen_ = kForeseen - keys.size();
  const std::span<Foreseen> foreseen(foreseen_.begin() + next_foreseen_, foreseen_.end());
  std::array<uint32_t, kForeseen> hashes;
  for (size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = LatestIndex::HashOf(keys[i].key);
    RowsOf(keys[i].table).index().FetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    foreseen[i] = {keys[i], RowsOf(keys[i].table).index().FetchRow(hashes[i])};
  }
}

// Null if there is none.
StoredRow* LatestGroup::Find(const LatestKey& key) {
  if (next_foreseen_ < kForeseen) {
    const Foreseen& next = foreseen_[next_foreseen_];
    if (next.key.table == key.table && next.key.key.data() == key.key.data()) {
      ++next_foreseen_;
      if (next.row != nullptr && next.row->key() == key.key) return next.row;
    }
  }
  return RowsOf(key.table).Find(key.key);
}

// What a row knows of its change is of this group, or of one before: then that is another row's.
LatestChange* LatestGroup::FindChange(const LatestKey& key, StoredRow** stored) {
  *stored = Find(key);
  if (*stored != nullptr) {
    const uint32_t change = (*stored)->change();
    const bool is_its = change < changes_.size() && changes_[change].stored == *stored;
    return is_its ? &changes_[change] : nullptr;
  }
  const auto added = new_rows_.find(key);
  return added == new_rows_.end() ? nullptr : &changes_[added->second];
}

LatestChange* LatestGroup::ChangeOf(const LatestKey& key) {
  StoredRow* stored = nullptr;
  LatestChange* const known = FindChange(key, &stored);
  if (known != nullptr) return known;
  const auto number = static_cast<uint32_t>(changes_.size());
  LatestChange& change = changes_.emplace_back();
  change.stored = stored;
  if (stored != nullptr) {
    change.key = {key.table, stored->key()};
    stored->set_change(number);
  } else {
    change.key = key;
    new_rows_.emplace(key, number);
  }
  return &change;
}

Result<LatestChange*> LatestGroup::Touch(const LatestKey& key) {
  LatestChange* const change = ChangeOf(key);
  if (!deletes_->any() && added_.empty()) return change;
  LatestTrim trim;
  const DeleteListPtr pending = deletes_->Of(key.table);
  AddCovering(*pending, key, &trim);
  AddCovering(added_, key, &trim);
  const Result<bool> applied = Apply(key, trim, change);
  if (!applied) return applied.error();
  change->recorded = change->recorded || *applied;
  return change;
}

Result<bool> LatestGroup::Apply(const LatestKey& key, const LatestTrim& trim,
                                LatestChange* change) {
  if (trim.empty()) return false;
  const std::string_view before = ValueOf(*change);
  if (before.empty()) return false;
  const Result<std::string_view> left = merge_.Trim(key.table, before, trim);
  if (!left) return left.error();
  if (left->data() == before.data()) return false;
  Set(*left, change);
  return true;
}

std::string_view LatestGroup::ValueOf(const LatestChange& change) {
  const TableId table = change.key.table;
  switch (change.to) {
    case LatestChange::To::kAsItWas:
      return change.stored == nullptr ? std::string_view()
                                      : merge_.Fold(table, change.stored->value(), {});
    case LatestChange::To::kGone:
      return {};
    case LatestChange::To::kLayer:
      EncodeLatest({&change.layer, 1}, &encoded_);
      return encoded_;
    case LatestChange::To::kAdded:
      return merge_.Fold(table, (change.row ? change.row.get() : change.stored)->value(),
                         *change.added);
    case LatestChange::To::kRow:
      return merge_.Fold(table, change.row->value(), {});
  }
  return {};
}

bool LatestGroup::TakesAdditions(const LatestChange& change) {
  if (change.to == LatestChange::To::kAsItWas) {
    return change.stored != nullptr && IsWide(change.stored->value());
  }
  return change.to == LatestChange::To::kAdded ||
         (change.to == LatestChange::To::kRow && IsWide(change.row->value()));
}

void LatestGroup::Add(const Layer& layer, LatestChange* change) {
  if (!change->added) change->added = std::make_unique<std::string>();
  AppendLayer(layer, change->added.get());
  change->to = LatestChange::To::kAdded;
}

void LatestGroup::Set(std::string_view row, LatestChange* change) {
  change->to = row.empty() ? LatestChange::To::kGone : LatestChange::To::kRow;
  change->row = row.empty() ? nullptr : StoredRow::Make(change->key.key, row);
  change->added.reset();
}

void LatestGroup::Set(const Layer& layer, const std::optional<LatestTwin>& twin,
                      LatestChange* change) {
  change->to = LatestChange::To::kLayer;
  change->layer = layer;
  change->added.reset();
  change->twin = twin ? twin->entry : 0;
  change->twin_set = twin ? twin->set : 0;
}

// Mostly the layer takes the place of a row that is one of the same columns.
LatestMerge::Fate LatestGroup::FateOf(TableMode mode, const LatestChange& change,
                                      const Layer& layer) const {
  if (change.to == LatestChange::To::kLayer) {
    return LatestMerge::FateOf(mode, change.layer, true, layer);
  }
  if (change.to == LatestChange::To::kRow || change.to == LatestChange::To::kAdded) {
    return LatestMerge::Fate::kMerges;
  }
  if (change.to == LatestChange::To::kGone || change.stored == nullptr) {
    return LatestMerge::Fate::kReplaces;
  }
  Layer newest;
  bool alone = false;
  if (!GetNewestLayer(change.stored->value(), &newest, &alone)) return LatestMerge::Fate::kMerges;
  return LatestMerge::FateOf(mode, newest, alone, layer);
}

Status LatestGroup::Put(const LatestKey& key, TableMode mode, const Layer& layer,
                        const std::optional<LatestTwin>& twin) {
  const Result<LatestChange*> touched = Touch(key);
  if (!touched) return touched.error();
  LatestChange& change = **touched;
  if (mode == TableMode::kLatestCell && TakesAdditions(change)) {
    Add(layer, &change);
  } else {
    const Result<bool> changed = Merge(mode, layer, twin, &change);
    if (!changed) return changed.error();
    if (!*changed) return {};
  }
  change.recorded = true;
  TimeUs& oldest = oldest_.try_emplace(key.table, layer.time).first->second;
  oldest = std::min(oldest, layer.time);
  return {};
}

// False: it changed nothing.
Result<bool> LatestGroup::Merge(TableMode mode, const Layer& layer,
                                const std::optional<LatestTwin>& twin, LatestChange* change) {
  LatestMerge::Fate fate = FateOf(mode, *change, layer);
  if (fate == LatestMerge::Fate::kMerges) {
    const std::string_view before = ValueOf(*change);
    const Result<std::string_view> row = merge_.Put(change->key.table, mode, before, layer);
    if (!row) return row.error();
    if (*row == before) return false;
    if (IsOnlyLayer(*row, layer)) {
      fate = LatestMerge::Fate::kReplaces;
    } else {
      Set(*row, change);
    }
  }
  if (fate == LatestMerge::Fate::kIsCovered) return false;
  if (fate == LatestMerge::Fate::kReplaces) Set(layer, twin, change);
  return true;
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
    const auto row = new_rows_.find({deleted.table, rows.start});
    if (row != new_rows_.end()) covered->push_back(row->first);
    return;
  }
  for (const auto& [key, change] : new_rows_) {
    if (key.table == deleted.table && deleted.CoversRow(key.key)) covered->push_back(key);
  }
}

Result<std::optional<std::string_view>> LatestGroup::Trim(const LatestKey& key, uint64_t deletes,
                                                          std::span<const TimeUs> oldest,
                                                          bool in_heads) {
  LatestChange& change = *ChangeOf(key);
  LatestTrim trim;
  trim.oldest = oldest;
  const DeleteListPtr pending = deletes_->Of(key.table);
  AddCovering(*pending, key, &trim);
  std::erase_if(trim.deletes, [&](const auto* range) { return range->sequence > deletes; });
  const Result<bool> applied = Apply(key, trim, &change);
  if (!applied) return applied.error();
  change.recorded = change.recorded || (*applied && in_heads && !oldest.empty());
  std::optional<std::string_view> left;
  if (*applied && !change.recorded) left = ValueOf(change);
  return left;
}

std::string_view LatestGroup::ToStore(const LatestKey& key) {
  StoredRow* stored = nullptr;
  const LatestChange* const change = FindChange(key, &stored);
  if (change != nullptr && !change->recorded) return ValueOf(*change);
  return stored == nullptr ? std::string_view() : merge_.Fold(key.table, stored->value(), {});
}

void LatestGroup::AppendChanges(uint64_t head, std::string* record) {
  if (head != head_) ++mark_;
  head_ = head;
  record_.Truncate(0);
  for (LatestChange& change : changes_) {
    if (!change.recorded) continue;
    const auto& [table, key] = change.key;
    const Layer& layer = change.layer;
    if (change.to == LatestChange::To::kAdded && IsKnownToHead(change)) {
      AppendAddition(table, key, *change.added, &record_);
    } else if (change.to != LatestChange::To::kLayer) {
      AppendWhole(&change);
    } else if (change.twin == 0) {
      AppendLayerChange(table, key, layer, &record_);
    } else {
      const LatestTwin twin{layer.time, layer.sequence, change.twin, change.twin_set};
      AppendTwinChange(table, key, twin, &record_);
    }
  }
  record->append(record_.View(0, record_.size()));
}

// Whether the head has the row that the layers are added to.
bool LatestGroup::IsKnownToHead(const LatestChange& change) const {
  OpenRow open;
  return !change.row && DecodeOpenRow(change.stored->value(), &open) && open.mark == mark_;
}

// A row that is empty is gone. A head remembers that until it is sealed.
void LatestGroup::AppendWhole(LatestChange* change) {
  const bool may_open = change->to == LatestChange::To::kAdded ||
                        (change->to == LatestChange::To::kRow && IsWide(change->row->value()));
  if (may_open) MakeRow(mark_, change);
  std::string whole;
  AppendLatestChange({change->key.table, change->key.key, ValueOf(*change)}, &whole);
  record_.Append(whole);
}

// Makes one row of what is to become of it: open if it is wide, and marked.
void LatestGroup::MakeRow(uint32_t mark, LatestChange* change) {
  const std::string_view folded = ValueOf(*change);
  const std::string_view key = change->key.key;
  change->row =
      IsWide(folded) ? StoredRow::MakeOpen(key, {mark, folded, {}}) : StoredRow::Make(key, folded);
  change->to = LatestChange::To::kRow;
  change->added.reset();
}

// What is added to a row may need more than there is behind it.
void LatestGroup::MakeRoom(LatestChange* change) {
  OpenRow open;
  const bool is_open = !change->row && DecodeOpenRow(change->stored->value(), &open);
  if (!is_open || !change->stored->HasRoomBehind(change->added->size())) {
    MakeRow(open.mark, change);
  }
}

// The deletes come last: who goes by them sees what else the group did.
void LatestGroup::Publish() {
  if (changes_.empty() && added_.empty()) return;
  last_rows_ = nullptr;
  next_foreseen_ = kForeseen;
  for (LatestChange& change : changes_) {
    if (change.to == LatestChange::To::kAdded) MakeRoom(&change);
  }
  tables_->Publish(&changes_, oldest_);
  deletes_->Add(added_);
}

void LatestGroup::MoveTo(LatestChanges* changes, LatestTimes* oldest) {
  for (LatestChange& change : changes_) {
    if (change.to == LatestChange::To::kAsItWas) continue;
    if (change.to == LatestChange::To::kGone && change.stored == nullptr) continue;
    if (change.to == LatestChange::To::kLayer) Set(ValueOf(change), &change);
    if (change.to == LatestChange::To::kAdded) MakeRow(0, &change);
    if (change.row) change.key.key = change.row->key();
    changes->push_back(std::move(change));
  }
  *oldest = std::move(oldest_);
  Clear();
}

}  // namespace tallyd
