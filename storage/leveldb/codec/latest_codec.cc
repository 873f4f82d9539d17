#include "storage/leveldb/codec/latest_codec.h"

#include <limits>

namespace tallyd {

void EncodeLatest(std::span<const Layer> layers, std::string* record) {
  size_t room = kMaxVarintBytes;
  for (const Layer& layer : layers) room += 3 * kMaxVarintBytes + layer.entry.size();
  record->clear();
  record->reserve(room);
  PutVarint(record, layers.size());
  for (const Layer& layer : layers) {
    PutVarint(record, static_cast<uint64_t>(layer.time));
    PutVarint(record, layer.sequence);
    PutString(record, layer.entry);
  }
}

bool DecodeLatest(std::string_view record, std::vector<Layer>* layers) {
  layers->clear();
  ByteReader in(record);
  uint64_t count = 0;
  if (!in.GetVarint(&count)) return false;
  for (; count > 0; --count) {
    Layer layer;
    if (!in.GetNumber(&layer.time, static_cast<uint64_t>(kMaxTimeUs)) ||
        !in.GetVarint(&layer.sequence) || !in.GetString(&layer.entry)) {
      return false;
    }
    if (!layers->empty() && !layers->back().IsNewerThan(layer)) return false;
    layers->push_back(layer);
  }
  return in.done() && !layers->empty();
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

// Begins with a count of no layers, which no other record has.
void EncodeLatestTwin(const LatestTwin& twin, std::string* record) {
  record->assign(1, '\0');
  PutVarint(record, static_cast<uint64_t>(twin.time));
  PutVarint(record, twin.sequence);
  PutVarint(record, twin.entry);
  PutVarint(record, twin.set);
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
