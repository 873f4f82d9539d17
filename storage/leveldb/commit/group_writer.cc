#include "storage/leveldb/commit/group_writer.h"

#include <algorithm>
#include <array>

#include "storage/bytes/coding.h"
#include "storage/leveldb/catalogue/keyed_records.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr int kSetBits = 32;
// Of a table itself.
constexpr uint32_t kOfTable = ColumnRegistry::kNoSet;

uint64_t CopyOf(TableId table, uint32_t set) { return uint64_t{table} << kSetBits | set; }

}  // namespace

void HeadCopies::Use(TableId table, uint32_t set) { UseCopy(CopyOf(table, set)); }

void HeadCopies::Use(TableId table, std::string_view entry) {
  EntryHead head;
  ByteReader in(entry);
  if (!GetEntryHead(&in, &head)) return;
  Use(table, head.tag == EntryTag::kByName ? ColumnRegistry::kNoSet : head.number);
}

void HeadCopies::UseCopy(Copy copy) {
  Known& known = known_[copy];
  if (known.group == group_) return;
  known.group = group_;
  used_.push_back(copy);
  if (static_cast<uint32_t>(copy) != kOfTable) UseCopy(copy | kOfTable);
}

void HeadCopies::Put(uint64_t head, leveldb::WriteBatch* batch) {
  for (const Copy copy : used_) {
    Known& known = known_[copy];
    if (known.head != head) PutCopy(copy, batch);
    known.head = head;
  }
  used_.clear();
  ++group_;
}

void HeadCopies::Forget() {
  known_.clear();
  used_.clear();
}

void HeadCopies::PutCopy(Copy copy, leveldb::WriteBatch* batch) const {
  const auto table = static_cast<TableId>(copy >> kSetBits);
  const auto set = static_cast<uint32_t>(copy);
  const auto put = [&](std::string_view key, std::string_view value) {
    std::string copied(1, static_cast<char>(KeySpace::kCopies));
    batch->Put(copied.append(key), ToSlice(value));
  };
  if (set == kOfTable) {
    for (const auto& [key, value] : KeyedRecords(catalogue_.RecordsOf(table))) put(key, value);
  } else if (const ColumnSet* columns = sets_.Find(table, set)) {
    put(ColumnSetKey(table, set), EncodeColumnSet(columns->columns));
  }
}

GroupWriter::GroupWriter(const Options& options, Database* database, EngineState* state)
    : options_(options),
      database_(database),
      state_(state),
      copies_(&state->catalogue, &state->sets),
      latest_(state->sets, &state->latest, &state->latest_deletes, options.rows_at_once) {}

bool GroupWriter::MayCommit(const LevelDbBatch& batch) const {
  return std::all_of(batch.tables().begin(), batch.tables().end(),
                     [&](TableId table) { return state_->catalogue.Exists(table); });
}

Status GroupWriter::Commit(std::span<LevelDbBatch* const> group, bool sync) {
  head_.Clear();
  entries_.Clear();
  base_.Clear();
  any_base_ = false;
  any_row_ = false;
  latest_.Clear();
  sets_.clear();
  fields_.clear();
  missed_.clear();
  write_ = {};
  write_.batch = &head_;
  write_.sync = sync;
  sequence_ = state_->last_sequence;
  write_.after = sequence_;
  for (LevelDbBatch* batch : group) {
    const Status added = AddBatch(batch);
    if (!added) return added;
  }
  AddGroupRecords();
  write_.entries = entries_.TakeRun();
  write_.sequence = sequence_;
  const Status written = Write();
  committed_bytes_ = head_.ApproximateSize();
  write_.entries.reset();
  if (!written) {
    copies_.Forget();
    latest_.ForgetHead();
  }
  if (written) {
    state_->last_sequence = sequence_;
  } else {
    KeepFailed();
  }
  if (state_->watches.any()) TellWatches(group, written.has_value());
  return written;
}

// When readers see the group. What could not be written may be found all the same.
void GroupWriter::TellWatches(std::span<LevelDbBatch* const> group, bool written) {
  for (const std::shared_ptr<RowWatch>& watch : state_->watches.All()) {
    if (!written) watch->NoteAll();
    for (const LevelDbBatch* batch : group) batch->TellOf(watch.get());
  }
}

Status GroupWriter::AddBatch(LevelDbBatch* batch) {
  sequences_.clear();
  for (const LevelDbBatch::Layout& layout : batch->layouts()) {
    copies_.Use(layout.table, layout.set);
  }
  CoverTimes(*batch);
  if (batch->adoption() < state_->catalogue.adoption()) CoverLate(*batch);
  const std::vector<LevelDbBatch::Op>& ops = batch->ops();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (i % LatestGroup::kForeseen == 0) ForeseeLatest(*batch, i);
    const LevelDbBatch::Op& op = ops[i];
    Status added;
    switch (op.kind) {
      case LevelDbBatch::OpKind::kEntry:
        PatchSequence(batch->KeyOf(op), op.key_size, ++sequence_);
        entries_.Add(batch->Key(op), batch->ValueOf(op));
        break;
      case LevelDbBatch::OpKind::kLatest:
        added = PutLatest(*batch, op);
        break;
      case LevelDbBatch::OpKind::kDelete:
        added = Delete(op, batch->deletes()[op.index]);
        break;
      case LevelDbBatch::OpKind::kTrim:
        added = TrimLatest(*batch, op);
        break;
      case LevelDbBatch::OpKind::kStoreRow:
        StoreLatest({op.table, batch->Key(op)}, RowToStore({op.table, batch->Key(op)}));
        break;
      case LevelDbBatch::OpKind::kPutRecord:
        PutBase(batch->Key(op), batch->ValueOf(op));
        break;
      case LevelDbBatch::OpKind::kDropRecord:
        base_.Delete(ToSlice(batch->Key(op)));
        any_base_ = true;
        break;
      case LevelDbBatch::OpKind::kPutMemo:
      case LevelDbBatch::OpKind::kDropMemo:
        // With a sequence of its own a group of memos alone is one that may fail like others.
        ++sequence_;
        head_.Put(ToSlice(batch->Key(op)), ToSlice(batch->ValueOf(op)));
        break;
    }
    if (!added) return added;
    sequences_.push_back(sequence_);
  }
  AddRecords(*batch);
  return {};
}

void GroupWriter::ForeseeLatest(const LevelDbBatch& batch, size_t from) {
  std::array<LatestKey, LatestGroup::kForeseen> keys;
  size_t count = 0;
  const size_t end = std::min(from + keys.size(), batch.ops().size());
  for (size_t i = from; i < end; ++i) {
    const LevelDbBatch::Op& op = batch.ops()[i];
    if (op.kind == LevelDbBatch::OpKind::kLatest) keys[count++] = {op.table, batch.Key(op)};
  }
  latest_.Foresee({keys.data(), count});
}

// Memory is ahead of the disk until this is written: it then claims less than it might.
void GroupWriter::CoverLate(const LevelDbBatch& batch) {
  TimeUs end = 0;
  for (const LevelDbBatch::Op& op : batch.ops()) end = std::max(end, op.time + 1);
  const CatalogueRecords covered = state_->catalogue.CoverLate(
      batch.tables(), batch.adoption(), {end, sequence_ + batch.ops().size()});
  for (const auto& [key, record] : KeyedRecords(covered)) PutBase(key, record);
}

void GroupWriter::CoverTimes(const LevelDbBatch& batch) {
  for (size_t i = 0; i < batch.tables().size(); ++i) {
    const TimeRange& times = batch.times()[i];
    if (times.is_empty()) continue;
    TimeRange& all = write_.times.try_emplace(batch.tables()[i], times).first->second;
    all = all.Joined(times);
  }
}

Status GroupWriter::PutLatest(const LevelDbBatch& batch, const LevelDbBatch::Op& op) {
  const Layer layer{op.time, ++sequence_, batch.ValueOf(op)};
  std::optional<LatestTwin> twin;
  if (op.twin >= 0) {
    EntryHead head;
    ByteReader in(layer.entry);
    GetEntryHead(&in, &head);
    twin = LatestTwin{layer.time, layer.sequence, sequences_[static_cast<size_t>(op.twin)],
                      head.number};
  }
  return latest_.Put({op.table, batch.Key(op)}, op.mode, layer, twin);
}

// Base is told at once what is left of a row, unless the head is.
Status GroupWriter::TrimLatest(const LevelDbBatch& batch, const LevelDbBatch::Op& op) {
  const LevelDbBatch::Trim& trim = batch.trim();
  const bool in_heads = sequence_ > state_->sealed_sequence;
  if (in_heads && !trim.oldest.empty()) ++sequence_;
  const auto left = latest_.Trim({op.table, batch.Key(op)}, trim.deletes, trim.oldest, in_heads);
  if (!left) return left.error();
  if (*left) StoreLatest({op.table, batch.Key(op)}, **left);
  return {};
}

std::string_view GroupWriter::RowToStore(const LatestKey& key) {
  return state_->catalogue.Exists(key.table) ? latest_.ToStore(key) : std::string_view();
}

void GroupWriter::StoreLatest(const LatestKey& key, std::string_view row) {
  any_row_ = true;
  const std::string record = RowPrefix(KeySpace::kLatest, key.table, key.key);
  if (row.empty()) {
    base_.Delete(record);
  } else {
    base_.Put(record, ToSlice(row));
  }
}

Status GroupWriter::Delete(const LevelDbBatch::Op& op, const DeleteSpec& what) {
  auto range =
      std::make_shared<const DeleteRange>(op.table, ++sequence_, what, options_.clock->Now());
  const KeyRange& rows = what.rows;
  if ((!rows.end.empty() && rows.start >= rows.end) || what.cells.is_empty()) return {};
  if (op.mode != TableMode::kHistory) {
    const Result<bool> is_pending = latest_.Delete(range);
    if (!is_pending) return is_pending.error();
    if (!*is_pending) return {};
  }
  head_.Put(DeleteKey(op.table, sequence_), EncodeDelete(what, range->at));
  if (op.mode == TableMode::kHistory) write_.deletes.push_back(std::move(range));
  return {};
}

void GroupWriter::AddRecords(const LevelDbBatch& batch) {
  for (const ColumnSet* set : batch.new_sets()) {
    if (ColumnRegistry::IsStored(*set)) continue;
    if (std::find(sets_.begin(), sets_.end(), set) != sets_.end()) continue;
    sets_.push_back(set);
    PutBase(ColumnSetKey(set->table, set->id), EncodeColumnSet(set->columns));
  }
  for (const auto& [table, fields] : batch.missed()) {
    for (const auto& [field, missed] : fields) {
      const bool has_room = state_->fields.HasRoomForMissed(table);
      const std::string name = has_room ? field : std::string();
      MissedField& known = missed_[table][name];
      const uint8_t stored = state_->fields.HowMissed(table, name);
      known = {name, static_cast<uint8_t>(known.how | missed.how | stored), sequence_};
    }
  }
  for (const auto& [stream, of_stream] : batch.fields()) {
    for (const auto& [field, marks] : of_stream) {
      const FieldMarks stored = state_->fields.Find(stream, field);
      if (stored.type_bits == 0 && !state_->fields.HasRoom(stream)) continue;
      FieldMarks& known = fields_[stream][field];
      known.type_bits |= static_cast<uint8_t>(marks.type_bits | stored.type_bits);
      known.spelled = std::max(known.spelled, marks.spelled != 0 ? sequence_ : stored.spelled);
    }
  }
}

void GroupWriter::AddGroupRecords() {
  for (const auto& [stream, of_stream] : fields_) {
    for (const auto& [field, marks] : of_stream) {
      PutBase(FieldKey(stream, field), EncodeField(marks));
    }
  }
  for (const auto& [table, fields] : missed_) {
    for (const auto& [name, missed] : fields) {
      PutBase(MissedFieldKey(table, name), EncodeMissedField(missed));
    }
  }
  if (sequence_ == state_->last_sequence) return;
  std::string last;
  PutU64(&last, sequence_);
  head_.Put(MetaKey(MetaKind::kLastSequence), last);
}

void GroupWriter::AddLatestRecord(uint64_t head) {
  if (sequence_ == state_->last_sequence) return;
  latest_record_.clear();
  latest_.AppendChanges(head, &latest_record_);
  if (latest_record_.empty()) return;
  head_.Put(LatestChangesKey(sequence_), latest_record_);
  UseLayers();
}

// A row that is written whole has layers of earlier groups, too.
void GroupWriter::UseLayers() {
  for (ByteReader in(latest_record_); !in.done();) {
    LatestChangeRecord change;
    if (!ReadLatestChange(&in, &change)) return;
    if (IsLatestTwin(change.row) || IsLatestAddition(change.row)) continue;
    if (!DecodeLatest(change.row, &layers_)) continue;
    for (const Layer& layer : layers_) copies_.Use(change.table, layer.entry);
  }
}

void GroupWriter::PutBase(std::string_view key, std::string_view value) {
  base_.Put(ToSlice(key), ToSlice(value));
  any_base_ = true;
}

Status GroupWriter::Write() {
  // Base must not tell of what a power cut may take from the head.
  if (any_row_ && options_.sync != Sync::kAlways) {
    const Status synced = database_->SyncNewestHead();
    if (!synced) return synced;
  }
  if (any_base_ || any_row_) {
    // A note that outlives a failed write goes at the next start.
    for (const uint64_t number : database_->shelf().TakeGone()) {
      base_.Delete(FileNoteKey(number));
    }
    const Status written = database_->WriteBase(&base_);
    if (!written) return written;
  }
  write_.prepare = [this](uint64_t head) {
    AddLatestRecord(head);
    copies_.Put(head, &head_);
  };
  return database_->WriteHead(write_, [this] { Publish(); });
}

// What a group without a sequence of its own told base alone, if it did, is found out anew.
void GroupWriter::KeepFailed() {
  if (failed_ || sequence_ == state_->last_sequence) return;
  failed_.emplace();
  failed_->sequence = sequence_;
  latest_.MoveTo(&failed_->latest, &failed_->oldest);
}

void GroupWriter::Publish() {
  for (const ColumnSet* set : sets_) ColumnRegistry::SetStored(*set, true);
  state_->fields.Add(fields_, missed_);
  latest_.Publish();
}

}  // namespace tallyd
