#include "storage/leveldb/latest/latest_loader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/batch.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {

namespace {

bool IsIn(KeySpace space, std::string_view key) {
  return static_cast<uint8_t>(key[0]) == static_cast<uint8_t>(space);
}

std::string BeginOf(KeySpace space) { return std::string(1, static_cast<char>(space)); }

}  // namespace

LatestRows& LatestLoader::RowsOf(TableId table) {
  const auto known = rows_.find(table);
  return known != rows_.end() ? known->second
                              : rows_.emplace(table, LatestRows::WithoutIndex()).first->second;
}

LatestTables::Rows LatestLoader::Take() {
  for (auto& [table, rows] : rows_) rows.BuildIndex();
  return std::move(rows_);
}

Status LatestLoader::AddStored(std::string_view key, std::string_view value) {
  std::string row_key;
  if (!DecodeRowPrefix(key, &row_key)) return UnreadableRecord(key, "its key is malformed");
  return AddRow(key, {DecodeU32(key.data() + 1), row_key, value});
}

void LatestLoader::Append(LatestLoader&& behind) {
  for (auto& [table, rows] : behind.rows_) RowsOf(table).Append(std::move(rows));
}

// Newest first: of one row the last change of a head counts that tells of the whole of it, and what
// was added to it since; nothing else is looked at.
Status LatestLoader::AddChanges(leveldb::Iterator* head) {
  head->Seek(ToSlice(PrefixEnd(BeginOf(KeySpace::kLatestChanges))));
  head->Valid() ? head->Prev() : head->SeekToLast();
  for (; head->Valid() && IsIn(KeySpace::kLatestChanges, ToView(head->key())); head->Prev()) {
    const Status added = AddRecord(ToView(head->key()), ToView(head->value()));
    if (!added) return added;
  }
  changed_.Clear();
  Status read = FromLevelDb(head->status());
  if (read && !twins_.empty()) read = FindTwins(head);
  return read ? AddAdditions() : read;
}

Status LatestLoader::AddRecord(std::string_view record, std::string_view changes) {
  ByteReader in(changes);
  while (!in.done()) {
    LatestChangeRecord change;
    if (!ReadLatestChange(&in, &change)) {
      return UnreadableRecord(record, "its changes are malformed");
    }
    const LatestKey row{change.table, change.key};
    if (IsLatestAddition(change.row)) {
      if (changed_.Has(row) || !tables_.contains(change.table)) continue;
      Addition& addition = additions_[{change.table, std::string(change.key)}];
      addition.record = record;
      addition.layers.emplace_back(LayersOfAddition(change.row));
      continue;
    }
    if (!changed_.Add(row)) continue;
    const Status added = AddChange(record, change);
    if (!added) return added;
  }
  return {};
}

// To the row as it is by now. A salvage may have lost what they were added to.
Status LatestLoader::AddAdditions() {
  for (const auto& [key, addition] : additions_) {
    std::string added;
    for (auto layers = addition.layers.rbegin(); layers != addition.layers.rend(); ++layers) {
      added += *layers;
    }
    layers_.clear();
    if (!DecodeLayers(added, &layers_) || !AreReadable(key.first, layers_)) {
      return UnreadableRecord(addition.record, "a layer that was added is malformed");
    }
    const LatestRows& rows = RowsOf(key.first);
    const auto place = rows.LowerBound(key.second);
    const bool is_there = place != rows.end() && rows.At(place).key() == key.second;
    const std::string_view before = is_there ? rows.At(place).value() : std::string_view();
    const std::string_view row = fold_.FoldHeld(key.first, before, added);
    const Status done = AddRow(addition.record, {key.first, key.second, row});
    if (!done) return done;
  }
  additions_.clear();
  return {};
}

bool LatestLoader::AreReadable(TableId table, const std::vector<Layer>& layers) {
  return std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
    return DecodeEntry(sets_, table, layer.entry, &cells_);
  });
}

Status LatestLoader::AddChange(std::string_view record, const LatestChangeRecord& change) {
  if (!change.row.empty() && !IsLatestTwin(change.row)) return AddRow(record, change);
  if (!tables_.contains(change.table)) return {};
  if (change.row.empty()) {
    RowsOf(change.table).Erase(change.key);
    return {};
  }
  LatestTwin layer;
  if (change.key.size() > kMaxRowKeyBytes || !DecodeLatestTwin(change.row, &layer)) {
    return UnreadableRecord(record, "a reference in it is malformed");
  }
  StoredRowPtr row = StoredRow::Make(change.key, std::string_view());
  twins_.push_back({layer, change.table, row.get()});
  RowsOf(change.table).Put(std::move(row));
  return {};
}

// A table that was dropped has lost its columns already.
Status LatestLoader::AddRow(std::string_view record, const LatestChangeRecord& row) {
  if (!tables_.contains(row.table)) return {};
  if (row.key.size() > kMaxRowKeyBytes) return UnreadableRecord(record, "a row key is too long");
  if (!DecodeLatest(row.row, &layers_)) {
    return UnreadableRecord(record, "its layers are malformed");
  }
  if (!AreReadable(row.table, layers_)) return UnreadableRecord(record, "a layer is malformed");
  RowsOf(row.table).Put(StoredRow::Make(row.key, row.row));
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
