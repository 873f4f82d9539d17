#include "storage/leveldb/latest/latest_tables.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <random>
#include <utility>

#include "storage/batch.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// A chunk with fewer rows joins a neighbour if both together leave room for more.
constexpr size_t kFewRows = LatestRows::kChunkRows / 4;
constexpr size_t kJoinedRows = LatestRows::kChunkRows * 3 / 4;

}  // namespace

void FreeStoredRow::operator()(StoredRow* row) const { ::operator delete(row); }

StoredRowPtr StoredRow::Make(std::string_view key, std::string_view value) {
  assert(key.size() <= std::numeric_limits<uint16_t>::max());
  void* const place = ::operator new(sizeof(StoredRow) + key.size() + value.size());
  StoredRowPtr row(new (place) StoredRow(key.size(), value.size()));
  char* const bytes = static_cast<char*>(place) + sizeof(StoredRow);
  if (!key.empty()) std::memcpy(bytes, key.data(), key.size());
  if (!value.empty()) std::memcpy(bytes + key.size(), value.data(), value.size());
  return row;
}

// The last chunk that begins at or before the key; the first one for keys before all.
size_t LatestRows::ChunkOf(std::string_view key) const {
  const auto after = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return chunk.rows[0]->key() <= key;
  });
  return after == chunks_.begin() ? 0 : static_cast<size_t>(after - chunks_.begin()) - 1;
}

size_t LatestRows::Search(const Chunk& chunk, std::string_view key) {
  const StoredRowPtr* const rows = chunk.rows.get();
  return static_cast<size_t>(
      std::partition_point(rows, rows + chunk.size,
                           [&](const StoredRowPtr& row) { return row->key() < key; }) -
      rows);
}

LatestRows::Place LatestRows::LowerBound(std::string_view key) const {
  if (chunks_.empty()) return end();
  const size_t chunk = ChunkOf(key);
  const size_t row = Search(chunks_[chunk], key);
  return row < chunks_[chunk].size ? Place{chunk, row} : Place{chunk + 1, 0};
}

StoredRowPtr* LatestRows::Find(std::string_view key) const {
  if (chunks_.empty()) return nullptr;
  const Chunk& chunk = chunks_[ChunkOf(key)];
  const size_t row = Search(chunk, key);
  if (row == chunk.size || chunk.rows[row]->key() != key) return nullptr;
  return &chunk.rows[row];
}

StoredRowPtr LatestRows::Put(StoredRowPtr row) {
  if (chunks_.empty()) chunks_.push_back(NewChunk());
  Place place{chunks_.size() - 1, chunks_.back().size};
  const bool is_last = place.row == 0 || chunks_.back().rows[place.row - 1]->key() < row->key();
  if (!is_last) {
    place.chunk = ChunkOf(row->key());
    place.row = Search(chunks_[place.chunk], row->key());
    StoredRowPtr* const slot = &chunks_[place.chunk].rows[place.row];
    const bool is_there = place.row < chunks_[place.chunk].size && (*slot)->key() == row->key();
    if (is_there) return std::exchange(*slot, std::move(row));
  }
  place = MakeRoom(place);
  Chunk& chunk = chunks_[place.chunk];
  StoredRowPtr* const slot = chunk.rows.get() + place.row;
  std::move_backward(slot, chunk.rows.get() + chunk.size, chunk.rows.get() + chunk.size + 1);
  *slot = std::move(row);
  ++chunk.size;
  ++size_;
  return nullptr;
}

// Where the row goes that was to go to `place`. Rows that come in order leave full chunks behind.
LatestRows::Place LatestRows::MakeRoom(Place place) {
  const size_t full = place.chunk;
  if (chunks_[full].size < kChunkRows) return place;
  const bool at_end = full + 1 == chunks_.size() && place.row == kChunkRows;
  const size_t kept = at_end ? kChunkRows : kChunkRows / 2;
  Chunk next = NewChunk();
  Move(&chunks_[full], kept, &next);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(full) + 1, std::move(next));
  return place.row < kept || (place.row == kept && !at_end) ? place
                                                            : Place{full + 1, place.row - kept};
}

// Appends the rows of `from` from `begin` on to those of `to`.
void LatestRows::Move(Chunk* from, size_t begin, Chunk* to) {
  std::move(from->rows.get() + begin, from->rows.get() + from->size, to->rows.get() + to->size);
  to->size += from->size - begin;
  from->size = begin;
}

StoredRowPtr LatestRows::Erase(std::string_view key) {
  StoredRowPtr* const slot = Find(key);
  if (slot == nullptr) return nullptr;
  const size_t at = ChunkOf(key);
  Chunk& chunk = chunks_[at];
  StoredRowPtr erased = std::move(*slot);
  std::move(slot + 1, chunk.rows.get() + chunk.size, slot);
  --chunk.size;
  --size_;
  if (chunk.size == 0) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (chunk.size < kFewRows) {
    Join(at);
  }
  return erased;
}

void LatestRows::Join(size_t chunk) {
  for (const size_t left : {chunk, chunk - 1}) {
    if (left >= chunks_.size() || left + 1 >= chunks_.size()) continue;
    Chunk& right = chunks_[left + 1];
    if (chunks_[left].size + right.size > kJoinedRows) continue;
    Move(&right, 0, &chunks_[left]);
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    return;
  }
}

LatestRows::Place LatestRows::Next(Place place) const {
  if (++place.row < chunks_[place.chunk].size) return place;
  return {place.chunk + 1, 0};
}

LatestRows::Place LatestRows::Previous(Place place) const {
  if (place.row > 0) return {place.chunk, place.row - 1};
  return {place.chunk - 1, chunks_[place.chunk - 1].size - 1};
}

uint64_t LatestRows::Distance(const Place& from, const Place& to) const {
  uint64_t rows = 0;
  for (size_t chunk = from.chunk; chunk < to.chunk; ++chunk) rows += chunks_[chunk].size;
  return rows + to.row - from.row;
}

namespace {

constexpr size_t kCopiedBytes = 256u << 10;
// Of a table of a million rows all that there are; of larger ones the lock is let go in between.
constexpr size_t kCountedChunks = 8192;

bool IsEmpty(const KeyRange& range) { return !range.end.empty() && range.start >= range.end; }

}  // namespace

LatestKeySet::LatestKeySet() {
  std::random_device random;
  seed_ = (uint64_t{random()} << 32) | random();
}

bool LatestKeySet::Add(const LatestKey& row) {
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(row.key.data(), row.key.size(), seed_ + row.table);
  return hashes_.insert({hash.low64, hash.high64}).second;
}

const LatestRows& LatestTables::Of(TableId table) const {
  static const LatestRows kNone;
  const auto found = tables_.find(table);
  return found == tables_.end() ? kNone : found->second;
}

bool LatestTables::Read(TableId table, const KeyRange& range, bool reverse, size_t limit,
                        LatestCopy* copy) const {
  copy->rows_.clear();
  copy->arena_.Reset();
  if (IsEmpty(range)) return false;
  const std::shared_lock lock(mutex_);
  const LatestRows& rows = Of(table);
  LatestRows::Place begin = rows.BeginOf(range);
  LatestRows::Place end = rows.EndOf(range);
  for (size_t bytes = 0; begin != end;) {
    if (copy->rows_.size() >= limit || bytes >= kCopiedBytes) return true;
    if (reverse) end = rows.Previous(end);
    const StoredRow& row = rows.At(reverse ? end : begin);
    if (!reverse) begin = rows.Next(begin);
    bytes += row.key().size() + row.value().size();
    copy->rows_.emplace_back(copy->arena_.Copy(row.key()), copy->arena_.Copy(row.value()));
  }
  return false;
}

std::string LatestTables::Get(TableId table, std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const StoredRowPtr* const row = Of(table).Find(key);
  return row == nullptr ? std::string() : std::string((*row)->value());
}

size_t LatestTables::SizeOf(const LatestKey& row) const {
  const std::shared_lock lock(mutex_);
  const StoredRowPtr* const stored = Find(row);
  return stored == nullptr ? 0 : (*stored)->value().size();
}

uint64_t LatestTables::Count(TableId table, const KeyRange& range) const {
  if (IsEmpty(range)) return 0;
  uint64_t count = 0;
  for (std::string from = range.start;;) {
    const std::shared_lock lock(mutex_);
    const LatestRows& rows = Of(table);
    const LatestRows::Place begin = rows.LowerBound(from);
    const LatestRows::Place end = rows.EndOf(range);
    if (end.chunk - begin.chunk <= kCountedChunks) return count + rows.Distance(begin, end);
    const LatestRows::Place next{begin.chunk + kCountedChunks, 0};
    count += rows.Distance(begin, next);
    from = rows.At(next).key();
  }
}

uint64_t LatestTables::RowsOf(TableId table) const {
  const std::shared_lock lock(mutex_);
  return Of(table).size();
}

StoredRowPtr* LatestTables::Find(const LatestKey& row) const { return Of(row.table).Find(row.key); }

// What is replaced is replaced first: slots are not good for longer.
void LatestTables::Publish(LatestChanges* changes, const LatestTimes& oldest) {
  const std::unique_lock lock(mutex_);
  for (auto& [key, change] : *changes) {
    if (change.changed && change.row && change.stored != nullptr) {
      std::swap(*change.stored, change.row);
    }
  }
  for (auto& [key, change] : *changes) {
    if (!change.changed) continue;
    if (change.stored == nullptr && change.row) {
      tables_[key.table].Put(std::move(change.row));
    } else if (change.stored != nullptr && !change.row) {
      change.row = tables_[key.table].Erase(key.key);
    }
  }
  for (const auto& [table, time] : oldest) {
    TimeUs& known = oldest_.try_emplace(table, time).first->second;
    known = std::min(known, time);
  }
}

void LatestTables::Replace(Rows rows) {
  const std::unique_lock lock(mutex_);
  tables_.swap(rows);
  oldest_.clear();
  for (const auto& [table, of_table] : tables_) oldest_[table] = 0;  // Nobody has looked.
}

void LatestTables::Keep(const std::function<bool(TableId)>& keep) {
  const std::unique_lock lock(mutex_);
  std::erase_if(tables_, [&](const auto& table) { return !keep(table.first); });
}

LatestRows LatestTables::TakeOut(TableId table) {
  const std::unique_lock lock(mutex_);
  oldest_.erase(table);
  auto taken = tables_.extract(table);
  return taken ? std::move(taken.mapped()) : LatestRows();
}

std::vector<TableId> LatestTables::Tables() const {
  const std::shared_lock lock(mutex_);
  std::vector<TableId> tables;
  for (const auto& [table, rows] : tables_) tables.push_back(table);
  return tables;
}

TimeUs LatestTables::TakeOldest(TableId table) {
  const std::unique_lock lock(mutex_);
  const auto taken = oldest_.extract(table);
  return taken ? taken.mapped() : std::numeric_limits<TimeUs>::max();
}

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
