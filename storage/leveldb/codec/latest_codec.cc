#include "storage/leveldb/codec/latest_codec.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tallyd {

void EncodeLatest(std::span<const Layer> layers, std::string* record) {
  size_t room = kMaxVarintBytes;
  for (const Layer& layer : layers) room += 3 * kMaxVarintBytes + layer.entry.size();
  record->clear();
  record->reserve(room);
  PutVarint(record, layers.size());
  for (const Layer& layer : layers) AppendLayer(layer, record);
}

namespace {

// REQUIRES: kMaxLayerHead of room.
constexpr size_t kMaxLayerHead = 1 + 3 * kMaxVarintBytes;
char* EncodeOnlyHead(char* to, const Layer& layer) {
  *to++ = 1;
  to = EncodeVarint(to, static_cast<uint64_t>(layer.time));
  to = EncodeVarint(to, layer.sequence);
  return EncodeVarint(to, layer.entry.size());
}

bool GetLayer(ByteReader* in, Layer* layer) {
  return in->GetNumber(&layer->time, static_cast<uint64_t>(kMaxTimeUs)) &&
         in->GetVarint(&layer->sequence) && in->GetString(&layer->entry);
}

}  // namespace

size_t LatestSize(const Layer& layer) {
  return 1 + VarintSize(static_cast<uint64_t>(layer.time)) + VarintSize(layer.sequence) +
         VarintSize(layer.entry.size()) + layer.entry.size();
}

// A varint may write beyond its end.
char* EncodeLatest(char* to, const Layer& layer) {
  char head[kMaxLayerHead];
  const auto size = static_cast<size_t>(EncodeOnlyHead(head, layer) - head);
  std::memcpy(to, head, size);
  std::memcpy(to + size, layer.entry.data(), layer.entry.size());
  return to + size + layer.entry.size();
}

bool GetNewestLayer(std::string_view record, Layer* newest, bool* alone) {
  ByteReader in(record);
  uint64_t count = 0;
  if (!in.GetVarint(&count) || count == 0) return false;
  *alone = count == 1;
  return GetLayer(&in, newest);
}

bool DecodeLatest(std::string_view record, std::vector<Layer>* layers) {
  layers->clear();
  ByteReader in(record);
  uint64_t count = 0;
  if (!in.GetVarint(&count)) return false;
  for (; count > 0; --count) {
    Layer layer;
    if (!GetLayer(&in, &layer)) return false;
    if (!layers->empty() && !layers->back().IsNewerThan(layer)) return false;
    layers->push_back(layer);
  }
  return in.done() && !layers->empty();
}

void AppendLayer(const Layer& layer, std::string* layers) {
  PutVarint(layers, static_cast<uint64_t>(layer.time));
  PutVarint(layers, layer.sequence);
  PutString(layers, layer.entry);
}

bool DecodeLayers(std::string_view bytes, std::vector<Layer>* layers) {
  ByteReader in(bytes);
  while (!in.done()) {
    Layer layer;
    if (!GetLayer(&in, &layer)) return false;
    layers->push_back(layer);
  }
  return true;
}

namespace {

constexpr size_t kWideBytes = 256;
constexpr char kOneLayer = 1;
constexpr size_t kOpenHeadBytes = 1 + 2 * sizeof(uint32_t);

}  // namespace

bool IsWide(std::string_view row) { return row.size() >= kWideBytes && row[0] != kOneLayer; }

size_t OpenRowSize(const OpenRow& row) {
  return kOpenHeadBytes + row.folded.size() + row.added.size();
}

// Begins with a count of no layers, which no other row in memory has.
void EncodeOpenRow(char* to, const OpenRow& row) {
  *to++ = 0;
  to = EncodeU32(to, row.mark);
  to = EncodeU32(to, static_cast<uint32_t>(row.folded.size()));
  to = std::copy(row.folded.begin(), row.folded.end(), to);
  std::copy(row.added.begin(), row.added.end(), to);
}

bool DecodeOpenRow(std::string_view held, OpenRow* row) {
  if (!IsOpen(held)) return false;
  ByteReader in(held.substr(1));
  uint32_t folded = 0;
  if (!in.GetU32(&row->mark) || !in.GetU32(&folded) || !in.GetBytes(folded, &row->folded)) {
    return false;
  }
  row->added = in.rest();
  return true;
}

bool DecodeHeld(std::string_view held, std::vector<Layer>* layers) {
  OpenRow open;
  if (!IsOpen(held)) return DecodeLatest(held, layers);
  return DecodeOpenRow(held, &open) && DecodeLatest(open.folded, layers) &&
         DecodeLayers(open.added, layers);
}

void AppendLatestChange(const LatestChangeRecord& change, std::string* record) {
  PutVarint(record, change.table);
  PutString(record, change.key);
  PutString(record, change.row);
}

bool ReadLatestChange(ByteReader* in, LatestChangeRecord* change) {
  return in->GetNumber(&change->table, std::numeric_limits<TableId>::max()) &&
         in->GetString(&change->key) && in->GetString(&change->row);
}

namespace {

constexpr size_t kMaxTwinBytes = 1 + 4 * kMaxVarintBytes;

// Begins with a count of no layers as a varint writes it, which no other record does.
char* EncodeTwin(char* to, const LatestTwin& twin) {
  *to++ = 0;
  to = EncodeVarint(to, static_cast<uint64_t>(twin.time));
  to = EncodeVarint(to, twin.sequence);
  to = EncodeVarint(to, twin.entry);
  return EncodeVarint(to, twin.set);
}

char* EncodeString(char* to, std::string_view s) {
  to = EncodeVarint(to, s.size());
  if (!s.empty()) std::memcpy(to, s.data(), s.size());
  return to + s.size();
}

// Up to the row, which may have this size and kMaxVarintBytes.
char* BeginChange(TableId table, std::string_view key, size_t row_size, ByteBuffer* record) {
  char* const to = record->Reserve(4 * kMaxVarintBytes + key.size() + row_size);
  return EncodeString(EncodeVarint(to, table), key);
}

}  // namespace

void EncodeLatestTwin(const LatestTwin& twin, std::string* record) {
  char bytes[kMaxTwinBytes];
  record->assign(bytes, static_cast<size_t>(EncodeTwin(bytes, twin) - bytes));
}

void AppendLayerChange(TableId table, std::string_view key, const Layer& layer,
                       ByteBuffer* record) {
  const size_t size = LatestSize(layer);
  char* const to = EncodeVarint(BeginChange(table, key, size, record), size);
  record->Finish(EncodeLatest(to, layer));
}

void AppendTwinChange(TableId table, std::string_view key, const LatestTwin& twin,
                      ByteBuffer* record) {
  char bytes[kMaxTwinBytes];
  const auto size = static_cast<size_t>(EncodeTwin(bytes, twin) - bytes);
  record->Finish(EncodeString(BeginChange(table, key, size, record), {bytes, size}));
}

namespace {

// A count of no layers in two bytes: no varint is written so.
constexpr std::string_view kAddition("\x80\x00", 2);

}  // namespace

bool IsLatestAddition(std::string_view record) { return record.starts_with(kAddition); }

std::string_view LayersOfAddition(std::string_view record) {
  return record.substr(kAddition.size());
}

void AppendAddition(TableId table, std::string_view key, std::string_view layers,
                    ByteBuffer* record) {
  const size_t size = kAddition.size() + layers.size();
  char* to = EncodeVarint(BeginChange(table, key, size, record), size);
  to = std::copy(kAddition.begin(), kAddition.end(), to);
  record->Finish(std::copy(layers.begin(), layers.end(), to));
}

bool IsLatestTwin(std::string_view record) { return !record.empty() && record[0] == '\0'; }

bool DecodeLatestTwin(std::string_view record, LatestTwin* twin) {
  if (!IsLatestTwin(record)) return false;
  ByteReader in(record.substr(1));
  return in.GetNumber(&twin->time, static_cast<uint64_t>(kMaxTimeUs)) &&
         in.GetVarint(&twin->sequence) && in.GetVarint(&twin->entry) &&
         in.GetNumber(&twin->set, std::numeric_limits<uint32_t>::max()) && in.done();
}

}  // namespace tallyd
