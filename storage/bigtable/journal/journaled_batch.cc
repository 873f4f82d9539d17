#include "storage/bigtable/journal/journaled_batch.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "storage/bytes/coding.h"
#include "storage/bytes/record_parts.h"

namespace tallyd {
namespace {

// DO NOT CHANGE THESE VALUES: they are stored.
constexpr uint8_t kVersion = 1;
constexpr uint8_t kFoldsFlag = 1;
constexpr uint8_t kCountsFlag = 2;
constexpr uint8_t kHasValueFlag = 1;
constexpr uint8_t kAroundFlag = 2;

void PutByte(std::string* out, uint8_t byte) { out->push_back(static_cast<char>(byte)); }

const BigtableBatch::Step& RowsOf(const BigtableBatch& batch) { return batch.steps().front(); }

// How many there are of what takes at least a byte each.
bool GetCount(ByteReader* in, size_t* count) { return in->GetNumber(count, in->left()); }

bool GetTables(ByteReader* in, JournaledBatch* batch) {
  size_t count = 0;
  if (!GetCount(in, &count)) return false;
  for (size_t i = 0; i < count; ++i) {
    JournaledBatch::Table& table = batch->tables.emplace_back();
    if (!in->GetNumber(&table.id, std::numeric_limits<TableId>::max())) return false;
    if (!GetText(in, &table.name)) return false;
  }
  return true;
}

bool GetRow(ByteReader* in, size_t tables, JournaledBatch::Row* row) {
  uint8_t flags = 0;
  uint64_t time = 0;
  std::string_view entry;
  if (!in->GetNumber(&row->table, std::numeric_limits<uint32_t>::max()) || row->table >= tables ||
      !in->GetByte(&flags) || !in->GetVarint(&time) || !in->GetString(&entry)) {
    return false;
  }
  row->folds = (flags & kFoldsFlag) != 0;
  row->counts = (flags & kCountsFlag) != 0;
  row->time = UnZigZag(time);
  return (flags & ~(kFoldsFlag | kCountsFlag)) == 0 &&
         row->entry.ParseFromArray(entry.data(), static_cast<int>(entry.size())) &&
         !row->entry.row_key().empty() && row->entry.mutations_size() > 0;
}

bool GetRows(ByteReader* in, JournaledBatch* batch) {
  size_t count = 0;
  if (!GetCount(in, &count)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!GetRow(in, batch->tables.size(), &batch->rows.emplace_back())) return false;
  }
  return true;
}

bool GetMemos(ByteReader* in, JournaledBatch* batch) {
  size_t count = 0;
  if (!GetCount(in, &count)) return false;
  for (size_t i = 0; i < count; ++i) {
    uint8_t flags = 0;
    std::string key;
    std::string value;
    if (!in->GetByte(&flags) || (flags & ~(kHasValueFlag | kAroundFlag)) != 0 ||
        !GetText(in, &key) || !GetText(in, &value)) {
      return false;
    }
    if ((flags & kAroundFlag) != 0) batch->around.insert(key);
    auto& memo = batch->memos[std::move(key)];
    if ((flags & kHasValueFlag) != 0) memo = std::move(value);
  }
  return true;
}

}  // namespace

std::string EncodeJournaled(const BigtableBatch& batch, TimeUs written) {
  std::string bytes;
  PutByte(&bytes, kVersion);
  PutU64(&bytes, static_cast<uint64_t>(written));
  PutString(&bytes, batch.claim().key);
  std::vector<const TableInfo*> tables;
  std::map<TableId, size_t> places;
  size_t rows = 0;
  for (const BigtableBatch::Entry& row : RowsOf(batch).rows) {
    if (row.entry.mutations().empty()) continue;
    ++rows;
    const TableInfo& table = row.table->info;
    if (places.try_emplace(table.id, tables.size()).second) tables.push_back(&table);
  }
  PutVarint(&bytes, tables.size());
  for (const TableInfo* table : tables) {
    PutVarint(&bytes, table->id);
    PutString(&bytes, table->name);
  }
  PutVarint(&bytes, rows);
  for (const BigtableBatch::Entry& row : RowsOf(batch).rows) {
    if (row.entry.mutations().empty()) continue;
    PutVarint(&bytes, places.at(row.table->info.id));
    PutByte(&bytes,
            static_cast<uint8_t>((row.folds ? kFoldsFlag : 0) | (row.counts ? kCountsFlag : 0)));
    PutVarint(&bytes, ZigZag(row.time));
    PutVarint(&bytes, row.entry.ByteSizeLong());
    row.entry.AppendToString(&bytes);
  }
  std::string memos;
  size_t count = 0;
  for (const auto& [key, memo] : batch.notes().memos) {
    if (!GoesBehindRows(memo.order)) continue;
    ++count;
    PutByte(&memos, static_cast<uint8_t>((memo.value ? kHasValueFlag : 0) |
                                         (memo.order == NoteOrder::kAround ? kAroundFlag : 0)));
    PutString(&memos, key);
    PutString(&memos, memo.value.value_or(""));
  }
  PutVarint(&bytes, count);
  return bytes.append(memos);
}

Result<JournaledBatch> DecodeJournaled(std::string_view bytes) {
  ByteReader in(bytes);
  JournaledBatch batch;
  uint8_t version = 0;
  uint64_t written = 0;
  if (in.GetByte(&version) && version != kVersion) {
    return Error(ErrorCode::kCorruption,
                 "it has version " + std::to_string(version) + ", which a newer tallyd wrote");
  }
  const bool is_whole = in.GetU64(&written) && GetText(&in, &batch.claim) &&
                        GetTables(&in, &batch) && GetRows(&in, &batch) && GetMemos(&in, &batch) &&
                        in.done();
  if (!is_whole) return Error(ErrorCode::kCorruption, "its bytes are damaged");
  batch.written = static_cast<TimeUs>(written);
  return batch;
}

std::optional<TimeUs> WrittenOfJournaled(std::string_view bytes) {
  ByteReader in(bytes);
  uint8_t version = 0;
  uint64_t written = 0;
  if (!in.GetByte(&version) || !in.GetU64(&written)) return std::nullopt;
  return static_cast<TimeUs>(written);
}

}  // namespace tallyd
