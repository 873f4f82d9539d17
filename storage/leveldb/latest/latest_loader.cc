#include "storage/leveldb/latest/latest_loader.h"

#include <algorithm>

#include "storage/batch.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

bool IsIn(KeySpace space, std::string_view key) {
  return static_cast<uint8_t>(key[0]) == static_cast<uint8_t>(space);
}

std::string BeginOf(KeySpace space) { return std::string(1, static_cast<char>(space)); }

}  // namespace

Status LatestLoader::AddStored(std::string_view key, std::string_view value) {
  std::string row_key;
  if (!DecodeRowPrefix(key, &row_key)) return UnreadableRecord(key, "its key is malformed");
  return AddRow(key, {DecodeU32(key.data() + 1), row_key, value});
}

// Newest first: of one row the last change of a head counts, and only that is looked at.
Status LatestLoader::AddChanges(leveldb::Iterator* head) {
  head->Seek(ToSlice(PrefixEnd(BeginOf(KeySpace::kLatestChanges))));
  head->Valid() ? head->Prev() : head->SeekToLast();
  for (; head->Valid() && IsIn(KeySpace::kLatestChanges, ToView(head->key())); head->Prev()) {
    const std::string_view record = ToView(head->key());
    ByteReader in(ToView(head->value()));
    while (!in.done()) {
      LatestChangeRecord change;
      if (!ReadLatestChange(&in, &change)) {
        return UnreadableRecord(record, "its changes are malformed");
      }
      if (!changed_.Add({change.table, change.key})) continue;
      const Status added = AddChange(record, change);
      if (!added) return added;
    }
  }
  changed_.Clear();
  const Status read = FromLevelDb(head->status());
  return read && !twins_.empty() ? FindTwins(head) : read;
}

Status LatestLoader::AddChange(std::string_view record, const LatestChangeRecord& change) {
  if (!change.row.empty() && !IsLatestTwin(change.row)) return AddRow(record, change);
  if (!tables_.contains(change.table)) return {};
  if (change.row.empty()) {
    rows_[change.table].Erase(change.key);
    return {};
  }
  LatestTwin layer;
  if (change.key.size() > kMaxRowKeyBytes || !DecodeLatestTwin(change.row, &layer)) {
    return UnreadableRecord(record, "a reference in it is malformed");
  }
  StoredRowPtr row = StoredRow::Make(change.key, {});
  twins_.push_back({layer, change.table, row.get()});
  rows_[change.table].Put(std::move(row));
  return {};
}

// A table that was dropped has lost its columns already.
Status LatestLoader::AddRow(std::string_view record, const LatestChangeRecord& row) {
  if (!tables_.contains(row.table)) return {};
  if (row.key.size() > kMaxRowKeyBytes) return UnreadableRecord(record, "a row key is too long");
  if (!DecodeLatest(row.row, &layers_)) {
    return UnreadableRecord(record, "its layers are malformed");
  }
  for (const Layer& layer : layers_) {
    if (!DecodeEntry(sets_, row.table, layer.entry, &cells_)) {
      return UnreadableRecord(record, "a layer is malformed");
    }
  }
  rows_[row.table].Put(StoredRow::Make(row.key, row.row));
  return {};
}

// The rows that a head has by reference get their values from its history entries.
Status LatestLoader::FindTwins(leveldb::Iterator* head) {
  std::sort(twins_.begin(), twins_.end(),
            [](const Twin& a, const Twin& b) { return a.layer.entry < b.layer.entry; });
  size_t found = 0;
  for (head->Seek(ToSlice(BeginOf(KeySpace::kRows))); head->Valid(); head->Next()) {
    EntryKey entry;
    if (!ParseEntryKey(ToView(head->key()), &entry) || found == twins_.size()) break;
    const Result<size_t> added = AddTwinsOf(entry.sequence, ToView(head->value()));
    if (!added) return added.error();
    found += *added;
  }
  const bool all = found == twins_.size();
  twins_.clear();
  const Status read = FromLevelDb(head->status());
  if (!read || all) return read;
  return Error(ErrorCode::kCorruption,
               "a latest row refers to a history entry that its head does not have");
}

Result<size_t> LatestLoader::AddTwinsOf(uint64_t sequence, std::string_view entry) {
  const auto first =
      std::lower_bound(twins_.begin(), twins_.end(), sequence,
                       [](const Twin& twin, uint64_t of) { return twin.layer.entry < of; });
  size_t added = 0;
  for (auto twin = first; twin != twins_.end() && twin->layer.entry == sequence; ++twin) {
    if (ValuesOfEntry(entry).empty()) continue;
    const std::string values = WithSet(entry, twin->layer.set);
    const Layer layer{twin->layer.time, twin->layer.sequence, values};
    std::string row;
    EncodeLatest({&layer, 1}, &row);
    const std::string_view key = twin->row->key();
    const Status done = AddRow(key, {twin->table, key, row});
    if (!done) return done.error();
    ++added;
  }
  return added;
}

}  // namespace tallyd
