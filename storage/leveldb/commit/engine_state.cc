#include "storage/leveldb/commit/engine_state.h"

#include <fmt/format.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <unordered_map>

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/latest/entry_cells.h"

namespace tallyd {
namespace {

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

Error Unreadable(std::string_view key, std::string_view why) {
  return Error(ErrorCode::kCorruption,
               fmt::format("the stored record {} cannot be read: {}", Hex(key), why));
}

class Loader {
 public:
  Loader(Database* database, EngineState* state) : database_(database), state_(state) {}

  Result<LoadedView> Load() {
    const Status format = CheckFormat();
    if (!format) return format.error();
    state_->sets.ForgetStored();
    const Status base = ReadAll(database_->base());
    if (!base) return base.error();
    state_->sealed_sequence = last_sequence_;
    for (const auto& head : database_->opened_heads()) {
      const Status read = ReadAll(&head->db());
      if (!read) return read.error();
    }
    state_->catalogue.Reload(std::move(catalogue_));
    state_->fields.Replace(std::move(fields_));
    state_->latest.Replace(std::move(latest_));
    state_->last_sequence = last_sequence_;
    std::sort(loaded_.deletes.begin(), loaded_.deletes.end(),
              [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
    return std::move(loaded_);
  }

 private:
  Status ReadAll(leveldb::DB* db) {
    const auto iterator = Database::NewIterator(db);
    for (iterator->SeekToFirst(); iterator->Valid();) {
      const std::string_view key = ToView(iterator->key());
      if (static_cast<uint8_t>(key[0]) == static_cast<uint8_t>(KeySpace::kRows)) {
        iterator->Seek(ToSlice(PrefixEnd(key.substr(0, 1))));
        continue;
      }
      const Status read = ReadRecord(key, ToView(iterator->value()));
      if (!read) return read;
      iterator->Next();
    }
    Status read = FromLevelDb(iterator->status());
    for (const auto& [key, row] : changes_) {
      if (read) read = ReadLatest(key, row);
    }
    changes_.clear();
    return read && !twins_.empty() ? FindTwins(iterator.get()) : read;
  }

  // Those of a head come by sequence: of one row the last counts.
  Status ReadLatestChanges(std::string_view record_key, std::string_view record) {
    ByteReader in(record);
    std::string_view key;
    std::string_view row;
    while (!in.done()) {
      if (!ReadLatestChange(&in, &key, &row)) {
        return Unreadable(record_key, "its changes are malformed");
      }
      changes_[std::string(key)] = row;
    }
    return {};
  }

  // Latest rows that a head has by reference get their values from its history entries.
  Status FindTwins(leveldb::Iterator* iterator) {
    const std::string space(1, static_cast<char>(KeySpace::kRows));
    const std::string end = PrefixEnd(space);
    for (iterator->Seek(space); iterator->Valid() && !twins_.empty(); iterator->Next()) {
      EntryKey entry;
      if (ToView(iterator->key()) >= end || !ParseEntryKey(ToView(iterator->key()), &entry)) break;
      const auto [begin, last] = twins_.equal_range(entry.sequence);
      for (auto twin = begin; twin != last; ++twin) {
        const auto& [key, of_row] = twin->second;
        if (ValuesOfEntry(ToView(iterator->value())).empty()) continue;
        const std::string values = WithSet(ToView(iterator->value()), of_row.set);
        const Layer layer{of_row.time, of_row.sequence, values};
        const Status read = ReadLatest(key, EncodeLatest({&layer, 1}));
        if (!read) return read;
      }
      twins_.erase(begin, last);
    }
    const Status read = FromLevelDb(iterator->status());
    if (!read || twins_.empty()) return read;
    return Unreadable(twins_.begin()->second.first, "the entry that has its values is not there");
  }

  Status CheckFormat() {
    const std::string key = MetaKey(MetaKind::kFormat);
    const Result<std::string> stored = database_->Get(key);
    if (!stored && stored.error().code() != ErrorCode::kNotFound) return stored.error();
    if (!stored) return WriteFormat(key);
    const Result<uint32_t> version = DecodeFormat(*stored);
    if (!version) return version.error();
    if (*version != kFormatVersion) {
      return Error(ErrorCode::kConflict,
                   fmt::format("the data has format version {}; this tallyd reads version {} only. "
                               "Use the tallyd that wrote it, or another storage.path",
                               *version, kFormatVersion));
    }
    return {};
  }

  Status WriteFormat(const std::string& key) {
    const auto iterator = Database::NewIterator(database_->base());
    iterator->SeekToFirst();
    if (iterator->Valid()) {
      return Error(ErrorCode::kConflict,
                   "the database in storage.path was not made by tallyd; use another path");
    }
    leveldb::WriteBatch batch;
    batch.Put(key, EncodeFormat(kFormatVersion));
    return database_->WriteBase(&batch);
  }

  Status ReadRecord(std::string_view key, std::string_view value) {
    switch (static_cast<KeySpace>(key[0])) {
      case KeySpace::kMeta:
        return key.size() < 2 ? Status(Unreadable(key, "its key is too short"))
                              : ReadMeta(key, value);
      case KeySpace::kLatest:
        return ReadLatest(key, value);
      case KeySpace::kLatestChanges:
        return ReadLatestChanges(key, value);
      case KeySpace::kDeletes:
        return ReadDelete(key, value);
      case KeySpace::kBlockFiles:
        return ReadBlockFile(key, value);
      case KeySpace::kRows:
        break;
    }
    return {};
  }

  Status ReadMeta(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    switch (static_cast<MetaKind>(key[1])) {
      case MetaKind::kFormat:
        return {};
      case MetaKind::kLastSequence: {
        uint64_t last = 0;
        if (!ByteReader(value).GetU64(&last)) return Unreadable(key, "it is no number");
        last_sequence_ = std::max(last_sequence_, last);
        return {};
      }
      case MetaKind::kNextTable: {
        ByteReader number(value);
        if (!number.GetU32(&catalogue_.next_table)) return Unreadable(key, "it is no number");
        return {};
      }
      case MetaKind::kStream: {
        const Result<TimeUnit> unit = DecodeStream(value);
        if (!unit) return Unreadable(key, unit.error().message());
        catalogue_.streams[std::string(in.rest())] = *unit;
        return {};
      }
      case MetaKind::kTable:
        return ReadTable(key, value);
      case MetaKind::kColumnSet:
        return ReadColumnSet(key, value);
      case MetaKind::kField:
        return ReadField(key, value);
      case MetaKind::kSealedHead:  // The database reads it itself.
        return {};
    }
    return {};
  }

  Status ReadTable(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    Result<TableInfo> table = DecodeTable(value);
    if (!table) return Unreadable(key, table.error().message());
    if (!in.GetU32(&table->id)) return Unreadable(key, "its key is too short");
    catalogue_.tables[table->id] = std::move(*table);
    return {};
  }

  Status ReadColumnSet(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    TableId table = 0;
    uint32_t set = 0;
    if (!in.GetU32(&table) || !in.GetU32(&set)) return Unreadable(key, "its key is too short");
    Result<std::vector<Column>> columns = DecodeColumnSet(value);
    if (!columns) return Unreadable(key, columns.error().message());
    const auto known = catalogue_.tables.find(table);
    if (known == catalogue_.tables.end()) return {};  // Of a table that was dropped meanwhile.
    for (const Column& column : *columns) {
      if (column.family >= known->second.families.size())
        return Unreadable(key, "it names an unknown family");
    }
    return state_->sets.Load(table, set, std::move(*columns));
  }

  Status ReadField(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(2));
    std::string stream;
    if (!GetEscaped(&in, &stream)) return Unreadable(key, "its key names no stream");
    const Result<uint8_t> types = DecodeField(value);
    if (!types) return Unreadable(key, types.error().message());
    fields_[stream][std::string(in.rest())] = *types;
    return {};
  }

  Status ReadDelete(std::string_view key, std::string_view value) {
    ByteReader in(key.substr(1));
    TableId table = 0;
    uint64_t sequence = 0;
    if (!in.GetU32(&table) || !in.GetU64(&sequence)) {
      return Unreadable(key, "its key is too short");
    }
    Result<DeleteSpec> what = DecodeDelete(value);
    if (!what) return Unreadable(key, what.error().message());
    loaded_.deletes.push_back(
        std::make_shared<const DeleteRange>(table, sequence, std::move(*what)));
    return {};
  }

  Status ReadBlockFile(std::string_view key, std::string_view value) {
    const Result<BlockFileInfo> info = DecodeBlockFile(key, value);
    if (!info) return Unreadable(key, info.error().message());
    loaded_.files[info->table].push_back(
        std::make_shared<const BlockFile>(&database_->shelf(), *info));
    return {};
  }

  // Whatever is read here is trusted later, on the commit path.
  Status ReadLatest(std::string_view key, std::string_view value) {
    std::string row_key;
    if (!DecodeRowPrefix(key, &row_key)) return Unreadable(key, "its key is malformed");
    const TableId table = DecodeU32(key.data() + 1);
    // A table that was dropped has lost its columns already; its rows go when the head that says so
    // is sealed, if the power did not go before that was written.
    if (!catalogue_.tables.contains(table)) return {};
    if (value.empty()) {  // A head says that the row is gone.
      latest_.erase(std::string(key));
      return {};
    }
    if (IsLatestTwin(value)) {
      LatestTwin twin;
      if (!DecodeLatestTwin(value, &twin)) return Unreadable(key, "its reference is malformed");
      twins_.emplace(twin.entry, std::pair(std::string(key), twin));
      return {};
    }
    std::vector<Layer> layers;
    if (!DecodeLatest(value, &layers)) return Unreadable(key, "its layers are malformed");
    EntryCells cells;
    for (const Layer& layer : layers) {
      if (!DecodeEntry(state_->sets, table, layer.entry, &cells)) {
        return Unreadable(key, "a layer is malformed");
      }
    }
    latest_.insert_or_assign(std::string(key), std::make_shared<const std::string>(value));
    return {};
  }

  Database* const database_;
  EngineState* const state_;
  StoredCatalogue catalogue_;
  FieldTypes fields_;
  LatestTables::Rows latest_;
  LoadedView loaded_;
  // Of the head at hand: latest rows as it leaves them, and those of them that are references, by
  // the sequence of the entry that has their values.
  std::unordered_map<std::string, std::string> changes_;
  std::unordered_multimap<uint64_t, std::pair<std::string, LatestTwin>> twins_;
  uint64_t last_sequence_ = 0;
};

}  // namespace

Result<LoadedView> LoadEngineState(Database* database, EngineState* state) {
  return Loader(database, state).Load();
}

}  // namespace tallyd
