#include "storage/leveldb/commit/engine_state.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/commit/stored_latest.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/latest/latest_loader.h"
#include "storage/leveldb/read/table_scan.h"

namespace tallyd {
namespace {

class Loader {
 public:
  Loader(Database* database, EngineState* state)
      : database_(database), state_(state), latest_(state->sets, catalogue_.tables) {}

  Result<LoadedView> Load() {
    const Status read = Read();
    if (!read) return read.error();
    state_->latest.Replace(latest_.Take());
    state_->retention_time = retention_time_;
    return Finish();
  }

  // False: what is in memory is not what came before.
  Result<std::optional<LoadedView>> Reload(FailedGroup* failed) {
    with_latest_ = false;
    const Status read = Read();
    if (!read) return read.error();
    const bool has_failed = failed != nullptr && last_sequence_ == failed->sequence;
    if (last_sequence_ != state_->last_sequence && !has_failed) return std::nullopt;
    if (has_failed) {
      state_->latest.Publish(&failed->latest, failed->oldest);
      failed->latest.clear();
    }
    state_->latest.Keep([&](TableId table) { return catalogue_.tables.contains(table); });
    return Finish();
  }

 private:
  Status Read() {
    state_->sets.ForgetStored();
    leveldb::DB* const db = database_->base();
    Status base = ReadAll(db);
    if (base && with_latest_) base = ReadStoredLatest(db, catalogue_.tables, &latest_);
    if (!base) return base;
    sealed_sequence_ = last_sequence_;
    for (const auto& head : database_->opened_heads()) {
      Status read = ReadAll(&head->db());
      if (read && with_latest_) read = latest_.AddChanges(head->NewIterator().get());
      if (!read) return read;
    }
    // Base may have a delete whose head was lost: what is written from now on is later.
    for (const auto& deleted : loaded_.deletes) {
      last_sequence_ = std::max(last_sequence_, deleted->sequence);
    }
    return {};
  }

  LoadedView Finish() {
    TakeLatestDeletes();
    state_->sealed_sequence = sealed_sequence_;
    state_->catalogue.Reload(std::move(catalogue_));
    state_->fields.Replace(fields_, missed_);
    state_->merges.Replace(std::move(merges_));
    state_->last_sequence = last_sequence_;
    return std::move(loaded_);
  }

  // Of a table that is not there any more nobody knows the mode, and no row is in memory: its
  // deletes are of files.
  void TakeLatestDeletes() {
    DeleteList& deletes = loaded_.deletes;
    std::sort(deletes.begin(), deletes.end(),
              [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
    // Between two writes of sealing a delete is in base and in its head.
    deletes.erase(
        std::unique(deletes.begin(), deletes.end(),
                    [](const auto& a, const auto& b) { return a->sequence == b->sequence; }),
        deletes.end());
    const auto latest =
        std::stable_partition(deletes.begin(), deletes.end(), [&](const auto& deleted) {
          const auto table = catalogue_.tables.find(deleted->table);
          return table == catalogue_.tables.end() || table->second.mode == TableMode::kHistory;
        });
    state_->latest_deletes.Replace({latest, deletes.end()});
    deletes.erase(latest, deletes.end());
  }

  Status ReadAll(leveldb::DB* db) {
    const auto iterator = Database::NewIterator(db);
    for (iterator->SeekToFirst(); iterator->Valid();) {
      const std::string_view key = ToView(iterator->key());
      const auto space = static_cast<KeySpace>(key[0]);
      if (space == KeySpace::kRows || space == KeySpace::kGroups ||
          space == KeySpace::kLatestChanges || space == KeySpace::kCopies ||
          space == KeySpace::kMemos || space == KeySpace::kLatest) {
        iterator->Seek(ToSlice(PrefixEnd(key.substr(0, 1))));
        continue;
      }
      const Status read = ReadRecord(key, ToView(iterator->value()));
      if (!read) return read;
      iterator->Next();
    }
    return FromLevelDb(iterator->status());
  }

  Status ReadRecord(std::string_view key, std::string_view value) {
    switch (static_cast<KeySpace>(key[0])) {
      case KeySpace::kMeta:
        return key.size() < 2 ? Status(UnreadableRecord(key, "its key is too short"))
                              : ReadMeta(key, value);
      case KeySpace::kDeletes:
        return ReadDelete(key, value);
      case KeySpace::kBlockFiles:
        return ReadBlockFile(key, value);
      case KeySpace::kFileNotes:
        return ReadFileNote(key, value);
      case KeySpace::kRows:
      case KeySpace::kGroups:
      case KeySpace::kLatestChanges:
      case KeySpace::kCopies:
      case KeySpace::kLatest:
      case KeySpace::kMemos:
        break;
    }
    return {};
  }

  Status ReadMeta(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    if (static_cast<MetaKind>(key[1]) == kMergedEvents) return ReadMergedEvents(key, value);
    switch (static_cast<MetaKind>(key[1])) {
      case MetaKind::kFormat:
        return {};
      case MetaKind::kLastSequence: {
        uint64_t last = 0;
        if (!ByteReader(value).GetU64(&last)) return UnreadableRecord(key, "it is no number");
        last_sequence_ = std::max(last_sequence_, last);
        return {};
      }
      case MetaKind::kNextTable: {
        ByteReader number(value);
        if (!number.GetU32(&catalogue_.next_table)) return UnreadableRecord(key, "it is no number");
        return {};
      }
      case MetaKind::kStream: {
        Result<StoredStream> stream = DecodeStream(value);
        if (!stream) return UnreadableRecord(key, stream.error().message());
        catalogue_.streams[std::string(in.rest())] = std::move(*stream);
        return {};
      }
      case MetaKind::kTable:
        return ReadTable(key, value);
      case MetaKind::kColumnSet:
        return ReadColumnSet(key, value);
      case MetaKind::kField:
        return ReadField(key, value);
      case MetaKind::kMissedField:
        return ReadMissedField(key, value);
      case MetaKind::kRetentionClock: {
        uint64_t time = 0;
        if (!ByteReader(value).GetU64(&time) || time > kMaxTimeUs) {
          return UnreadableRecord(key, "it is no time");
        }
        retention_time_ = static_cast<TimeUs>(time);
        return {};
      }
      case MetaKind::kSealedHead:
        if (!ByteReader(value).GetU64(&loaded_.sealed_head)) {
          return UnreadableRecord(key, "it is no number");
        }
        return {};
      case MetaKind::kHeadNote:
        return ReadHeadNote(key, value);
      case MetaKind::kStoreId:  // The database reads these itself.
      case MetaKind::kClosedHead:
      case MetaKind::kHeadOrigin:
      case MetaKind::kOpenings:  // The engine adds to it, a backup reads it.
        return {};
    }
    return {};
  }

  Status ReadHeadNote(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    uint64_t head = 0;
    if (!in.GetU64(&head)) return UnreadableRecord(key, "its key is too short");
    const Result<HeadNote> note = DecodeHeadNote(value);
    if (!note) return UnreadableRecord(key, note.error().message());
    loaded_.head_notes[head] = *note;
    return {};
  }

  Status ReadTable(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    Result<TableInfo> table = DecodeTable(value);
    if (!table) return UnreadableRecord(key, table.error().message());
    if (!in.GetU32(&table->id)) return UnreadableRecord(key, "its key is too short");
    catalogue_.tables[table->id] = std::move(*table);
    return {};
  }

  Status ReadColumnSet(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    TableId table = 0;
    uint32_t set = 0;
    if (!in.GetU32(&table) || !in.GetU32(&set))
      return UnreadableRecord(key, "its key is too short");
    Result<std::vector<Column>> columns = DecodeColumnSet(value);
    if (!columns) return UnreadableRecord(key, columns.error().message());
    const auto known = catalogue_.tables.find(table);
    if (known == catalogue_.tables.end()) return {};  // Of a table that was dropped meanwhile.
    for (const Column& column : *columns) {
      if (column.family >= known->second.families.size())
        return UnreadableRecord(key, "it names an unknown family");
    }
    return state_->sets.Load(table, set, std::move(*columns));
  }

  Status ReadField(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    std::string stream;
    if (!GetEscaped(&in, &stream)) return UnreadableRecord(key, "its key names no stream");
    const Result<FieldMarks> marks = DecodeField(value);
    if (!marks) return UnreadableRecord(key, marks.error().message());
    fields_[stream][std::string(in.rest())] = *marks;
    return {};
  }

  Status ReadMissedField(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    TableId table = 0;
    if (!in.GetU32(&table)) return UnreadableRecord(key, "its key is too short");
    Result<MissedField> missed = DecodeMissedField(value);
    if (!missed) return UnreadableRecord(key, missed.error().message());
    missed->name = in.rest();
    missed_[table][missed->name] = *missed;
    return {};
  }

  Status ReadMergedEvents(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    TableId table = 0;
    if (!in.GetU32(&table)) return UnreadableRecord(key, "its key is too short");
    Result<MergeRecord> merges = DecodeMergeRecord(value);
    if (!merges) return UnreadableRecord(key, merges.error().message());
    merges_[table] = std::move(*merges);
    return {};
  }

  Status ReadDelete(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(1));
    TableId table = 0;
    uint64_t sequence = 0;
    if (!in.GetU32(&table) || !in.GetU64(&sequence)) {
      return UnreadableRecord(key, "its key is too short");
    }
    TimeUs at = 0;
    Result<DeleteSpec> what = DecodeDelete(value, &at);
    if (!what) return UnreadableRecord(key, what.error().message());
    loaded_.deletes.push_back(
        std::make_shared<const DeleteRange>(table, sequence, std::move(*what), at));
    return {};
  }

  Status ReadBlockFile(std::string_view key, std::string_view value) {
    const Result<BlockFileInfo> info = DecodeBlockFile(key, value);
    if (!info) return UnreadableRecord(key, info.error().message());
    loaded_.files[info->table].push_back(
        std::make_shared<const BlockFile>(&database_->shelf(), *info));
    return {};
  }

  Status ReadFileNote(std::string_view key, std::string_view value) {
    const Result<uint64_t> number = ParseFileNoteKey(key);
    if (!number) return UnreadableRecord(key, number.error().message());
    Result<FileNote> note = DecodeFileNote(value);
    if (!note) return UnreadableRecord(key, note.error().message());
    loaded_.notes[*number] = std::move(*note);
    return {};
  }

  Database* const database_;
  EngineState* const state_;
  StoredCatalogue catalogue_;
  FieldTypes fields_;
  MissedFields missed_;
  MergeCounts::Records merges_;
  LatestLoader latest_;
  LoadedView loaded_;
  bool with_latest_ = true;
  uint64_t last_sequence_ = 0;
  uint64_t sealed_sequence_ = 0;
  std::optional<TimeUs> retention_time_;
};

}  // namespace

FilesOnRecord RecordOf(const LoadedView& loaded, Database* database) {
  FilesOnRecord record;
  record.store = database->shelf().store();
  record.heads = database->opened_heads();
  for (const auto& [table, files] : loaded.files) {
    record.files.insert(record.files.end(), files.begin(), files.end());
  }
  for (const auto& [number, note] : loaded.notes) {
    if (note.kind == FileNote::Kind::kDropped) record.dropped[number] = note.checksum;
  }
  record.sealed_head = loaded.sealed_head;
  record.head_notes = loaded.head_notes;
  return record;
}

Result<LoadedView> LoadEngineState(Database* database, EngineState* state) {
  return Loader(database, state).Load();
}

Result<LoadedView> ReloadEngineState(Database* database, EngineState* state, FailedGroup* failed) {
  Result<std::optional<LoadedView>> reloaded = Loader(database, state).Reload(failed);
  if (!reloaded) return reloaded.error();
  if (*reloaded) return std::move(**reloaded);
  spdlog::warn("store: the files do not hold what was committed last; reading all of them");
  return LoadEngineState(database, state);
}

namespace {

// Behind the newest time of a latest table's row.
TimeUs EndOfRow(const StoredRow& row) {
  std::vector<Layer> layers;
  if (!DecodeHeld(row.value(), &layers) || layers.empty()) return kNeverWhole;
  TimeUs newest = 0;
  for (const Layer& layer : layers) newest = std::max(newest, layer.time);
  return newest + 1;
}

}  // namespace

bool EnginePast::FailsToRead(Head& head, TableId table, const UseEntry& use) const {
  const std::string end = TableEnd(KeySpace::kRows, table);
  const auto it = head.NewIterator();
  for (it->Seek(ToSlice(TablePrefix(KeySpace::kRows, table)));
       it->Valid() && ToView(it->key()) < end; it->Next()) {
    EntryKey entry;
    if (!ParseEntryKey(ToView(it->key()), &entry)) return true;
    if (!use(entry)) return false;
  }
  return !it->status().ok();
}

bool EnginePast::HasEntries(TableId table) const {
  if (!view_->FilesOf(table).empty()) return true;
  return std::any_of(view_->heads.begin(), view_->heads.end(), [&](const auto& head) {
    bool found = false;
    const bool failed = FailsToRead(*head, table, [&](const EntryKey&) {
      found = true;
      return false;
    });
    return found || failed;
  });
}

// What deletes hide is there for a while.
bool EnginePast::ShowsARow(const TableInfo& table) const {
  const bool is_history = table.mode == TableMode::kHistory;
  const auto latest = state_->latest_deletes.Of(table.id);
  const DeleteList& deletes = is_history ? view_->DeletesOf(table.id) : *latest;
  const auto stored = std::find_if(tables_.begin(), tables_.end(),
                                   [&](const TablePtr& each) { return each->id == table.id; });
  if (deletes.empty() || stored == tables_.end()) return true;
  ScanSpec spec;
  spec.keys_only = true;
  if (!is_history) {
    const Result<bool> more =
        LatestScan(*stored, spec, state_->sets, state_->latest, latest).Next();
    return !more || *more;
  }
  Result<std::unique_ptr<Lease>> lease = database_->NewLease();
  if (!lease) return true;
  const Result<bool> more =
      HistoryScan(*stored, spec, state_->sets, std::move(*lease), deletes).Next();
  return !more || *more;
}

bool EnginePast::IsEmpty(const TableInfo& table) {
  if (view_ == nullptr) return false;
  const bool has_any = table.mode == TableMode::kHistory ? HasEntries(table.id)
                                                         : state_->latest.RowsOf(table.id) > 0;
  return !has_any || !ShowsARow(table);
}

TimeUs EnginePast::EndOf(const TableInfo& table) {
  if (view_ == nullptr) return kNeverWhole;
  if (IsEmpty(table)) return 0;
  TimeUs end = 0;
  if (table.mode != TableMode::kHistory) {
    const LatestRows& rows = state_->latest.Of(table.id);
    for (auto at = rows.begin(); at < rows.end(); at = rows.Next(at)) {
      end = std::max(end, EndOfRow(rows.At(at)));
    }
    return end;
  }
  for (const BlockFilePtr& file : view_->FilesOf(table.id)) {
    end = std::max(end, file->info().max_time + 1);
  }
  for (const auto& head : view_->heads) {
    if (const std::optional<TimeRange> times = head->TimesOf(table.id)) {
      end = std::max(end, times->to);
      continue;
    }
    const bool failed = FailsToRead(*head, table.id, [&](const EntryKey& entry) {
      end = std::max(end, entry.time + 1);
      return true;
    });
    if (failed) return kNeverWhole;
  }
  return end;
}

bool EnginePast::TookSince(const TableInfo& table, uint64_t sequence) {
  if (state_->last_sequence <= sequence) return false;
  if (view_ == nullptr) return true;
  // A late event leaves no trace in a latest table.
  if (table.mode != TableMode::kHistory) return state_->latest.RowsOf(table.id) > 0;
  for (const BlockFilePtr& file : view_->FilesOf(table.id)) {
    if (file->info().max_sequence > sequence) return true;
  }
  return std::any_of(view_->heads.begin(), view_->heads.end(), [&](const auto& head) {
    bool found = false;
    const bool failed = FailsToRead(*head, table.id, [&](const EntryKey& entry) {
      found = entry.sequence > sequence;
      return !found;
    });
    return found || failed;
  });
}

}  // namespace tallyd
