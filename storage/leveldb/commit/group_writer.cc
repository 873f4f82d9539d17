#include "storage/leveldb/commit/group_writer.h"

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {

namespace {

constexpr size_t kManyChanges = 100'000;

bool Holds(const KeyRange& range, std::string_view key) {
  return key >= range.start && (range.end.empty() || key < range.end);
}

// Whether the row, as it was made just now, is this layer and nothing else.
bool IsOnlyLayer(std::string_view row, const Layer& layer) {
  ByteReader in(row);
  uint64_t count = 0;
  uint64_t time = 0;
  uint64_t sequence = 0;
  return in.GetVarint(&count) && count == 1 && in.GetVarint(&time) && in.GetVarint(&sequence) &&
         time == static_cast<uint64_t>(layer.time) && sequence == layer.sequence;
}

}  // namespace

GroupWriter::GroupWriter(Database* database, EngineState* state, const Clock& clock)
    : database_(database),
      state_(state),
      clock_(clock),
      merge_(state->sets),
      copies_(&state->catalogue, &state->sets) {}

bool GroupWriter::MayCommit(const LevelDbBatch& batch) const {
  return std::all_of(batch.tables().begin(), batch.tables().end(),
                     [&](TableId table) { return state_->catalogue.Exists(table); });
}

Status GroupWriter::Commit(std::span<LevelDbBatch* const> group, bool sync) {
  head_.Clear();
  base_.Clear();
  any_base_ = false;
  // A map keeps the room that a delete of very many rows took.
  if (latest_.bucket_count() > kManyChanges) latest_ = LatestChanges();
  latest_.clear();
  sets_.clear();
  fields_.clear();
  write_ = {&head_, {}, {}, sync, {}};
  sequence_ = state_->last_sequence;
  for (LevelDbBatch* batch : group) {
    const Status added = AddBatch(batch);
    if (!added) return added;
  }
  AddGroupRecords();
  committed_bytes_ = head_.ApproximateSize();
  const Status written = Write();
  if (!written) copies_.Forget();
  if (written) {
    state_->last_sequence = sequence_;
  } else {
    KeepFailed();
  }
  return written;
}

Status GroupWriter::AddBatch(LevelDbBatch* batch) {
  sequences_.clear();
  for (const LevelDbBatch::Op& op : batch->ops()) {
    Status added;
    switch (op.kind) {
      case LevelDbBatch::OpKind::kEntry:
        PatchSequence(batch->KeyOf(op), op.key_size, ++sequence_);
        head_.Put(ToSlice(batch->Key(op)), ToSlice(batch->ValueOf(op)));
        copies_.Use(op.table, batch->ValueOf(op));
        CoverTime(op.table, op.time);
        break;
      case LevelDbBatch::OpKind::kLatest:
        copies_.Use(op.table, batch->ValueOf(op));
        added = PutLatest(*batch, op);
        break;
      case LevelDbBatch::OpKind::kDelete:
        if (op.mode == TableMode::kHistory) {
          DeleteHistory(op.table, batch->deletes()[op.index]);
        } else {
          added = DeleteLatest(op.table, batch->deletes()[op.index]);
        }
        break;
      case LevelDbBatch::OpKind::kPutRecord:
        PutBase(batch->Key(op), batch->ValueOf(op));
        break;
      case LevelDbBatch::OpKind::kDropRecord:
        base_.Delete(ToSlice(batch->Key(op)));
        any_base_ = true;
        break;
    }
    if (!added) return added;
    sequences_.push_back(sequence_);
  }
  AddRecords(*batch);
  return {};
}

void GroupWriter::CoverTime(TableId table, TimeUs time) {
  TimeRange& range = write_.times.try_emplace(table, TimeRange{time, time + 1}).first->second;
  range.from = std::min(range.from, time);
  range.to = std::max(range.to, time + 1);
}

Status GroupWriter::PutLatest(const LevelDbBatch& batch, const LevelDbBatch::Op& op) {
  const LatestKey key{op.table, batch.Key(op)};
  LatestChange& change = ChangeOf(key);
  const std::string_view before = change.value();
  const Layer layer{op.time, ++sequence_, batch.ValueOf(op)};
  const Result<std::string_view> row = merge_.Put(op.table, op.mode, before, layer);
  if (!row) return row.error();
  if (row->data() == before.data()) return {};
  change.twin.reset();
  if (op.twin >= 0 && IsOnlyLayer(*row, layer)) {
    EntryHead head;
    ByteReader in(layer.entry);
    GetEntryHead(&in, &head);
    change.twin = LatestTwin{layer.time, layer.sequence, sequences_[static_cast<size_t>(op.twin)],
                             head.number};
  }
  change.row = StoredRow::Make(key.key, *row);
  change.changed = true;
  return {};
}

LatestChange& GroupWriter::ChangeOf(const LatestKey& key) {
  const auto [place, first] = latest_.try_emplace(key);
  if (first) place->second.stored = state_->latest.Find(key);
  return place->second;
}

Status GroupWriter::DeleteLatest(TableId table, const DeleteSpec& what) {
  const LatestRows& rows = state_->latest.Of(table);
  for (auto at = rows.BeginOf(what.rows), end = rows.EndOf(what.rows); at < end;
       at = rows.Next(at)) {
    ChangeOf({table, rows.At(at).key()});
  }
  for (auto& [key, change] : latest_) {
    const std::string_view before = change.value();
    if (key.table != table || before.empty() || !Holds(what.rows, key.key)) continue;
    const Result<std::string_view> left = merge_.Delete(table, before, what);
    if (!left) return left.error();
    if (left->data() == before.data()) continue;
    change.row = left->empty() ? nullptr : StoredRow::Make(key.key, *left);
    change.changed = true;
    change.twin.reset();
  }
  return {};
}

void GroupWriter::DeleteHistory(TableId table, const DeleteSpec& what) {
  auto range = std::make_shared<const DeleteRange>(table, ++sequence_, what, clock_.Now());
  const KeyRange& rows = what.rows;
  if ((!rows.end.empty() && rows.start >= rows.end) || what.cells.is_empty()) return;
  head_.Put(DeleteKey(table, sequence_), EncodeDelete(what, range->at));
  write_.deletes.push_back(std::move(range));
}

void GroupWriter::AddRecords(const LevelDbBatch& batch) {
  for (const ColumnSet* set : batch.new_sets()) {
    if (ColumnRegistry::IsStored(*set)) continue;
    if (std::find(sets_.begin(), sets_.end(), set) != sets_.end()) continue;
    sets_.push_back(set);
    PutBase(ColumnSetKey(set->table, set->id), EncodeColumnSet(set->columns));
  }
  for (const auto& [stream, types] : batch.fields()) {
    for (const auto& [field, type_bits] : types) {
      const uint8_t stored = state_->fields.TypesOf(stream, field);
      if (stored == 0 && !state_->fields.HasRoom(stream)) continue;
      uint8_t& known = fields_[stream][field];
      known = static_cast<uint8_t>(known | type_bits | stored);
    }
  }
}

void GroupWriter::AddGroupRecords() {
  for (const auto& [stream, types] : fields_) {
    for (const auto& [field, type_bits] : types) {
      PutBase(FieldKey(stream, field), EncodeField(type_bits));
    }
  }
  latest_record_.clear();
  for (const auto& [key, change] : latest_) {
    if (!change.changed) continue;
    // Empty: the row is gone. A head remembers that until it is sealed.
    std::string_view row = change.value();
    if (change.twin) {
      EncodeLatestTwin(*change.twin, &twin_);
      row = twin_;
    }
    AppendLatestChange({key.table, key.key, row}, &latest_record_);
  }
  // Each record of changes has a key of its own, also where nothing was written but deletes of
  // rows.
  if (!latest_record_.empty() && sequence_ == state_->last_sequence) ++sequence_;
  if (sequence_ == state_->last_sequence) return;
  if (!latest_record_.empty()) head_.Put(LatestChangesKey(sequence_), latest_record_);
  std::string last;
  PutU64(&last, sequence_);
  head_.Put(MetaKey(MetaKind::kLastSequence), last);
}

void GroupWriter::PutBase(std::string_view key, std::string_view value) {
  base_.Put(ToSlice(key), ToSlice(value));
  any_base_ = true;
}

Status GroupWriter::Write() {
  if (any_base_) {
    // A note that outlives a failed write goes at the next start.
    for (const uint64_t number : database_->shelf().TakeGone()) {
      base_.Delete(FileNoteKey(number));
    }
    const Status written = database_->WriteBase(&base_);
    if (!written) return written;
  }
  write_.prepare = [this](uint64_t head) { copies_.Put(head, &head_); };
  return database_->WriteHead(write_, [this] { Publish(); });
}

// The batches are gone by the time somebody asks: the keys must be those of the rows.
void GroupWriter::KeepFailed() {
  if (failed_) return;
  failed_.emplace();
  failed_->sequence = sequence_;
  for (auto& [key, change] : latest_) {
    if (!change.changed || (!change.row && change.stored == nullptr)) continue;
    const StoredRow& row = change.row ? *change.row : **change.stored;
    failed_->latest.emplace(LatestKey{key.table, row.key()}, std::move(change));
  }
  latest_.clear();
}

void GroupWriter::Publish() {
  for (const ColumnSet* set : sets_) ColumnRegistry::SetStored(*set, true);
  state_->fields.Add(fields_);
  state_->latest.Publish(&latest_);
}

}  // namespace tallyd
