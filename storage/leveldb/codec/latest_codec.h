// A row of a latest table, as stored and as held in memory (storage/FORMAT.md, Latest): layers,
// each what one event wrote, newest first.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_LATEST_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_LATEST_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "storage/bytes/coding.h"
#include "storage/cell_merge.h"
#include "storage/table_info.h"

namespace tallyd {

struct Layer {
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::string_view entry;

  bool IsNewerThan(const Layer& other) const {
    return WriteMoment{time, sequence}.IsNewerThan({other.time, other.sequence});
  }
};

void EncodeLatest(std::span<const Layer> layers, std::string* record);  // Replaced.
// False if malformed, or not newest first. The entries view `record`; *layers is replaced.
bool DecodeLatest(std::string_view record, std::vector<Layer>* layers);

// What a group of batches makes of latest rows, as a head has it: one record, so that it takes one
// entry of the head and not one for each row.
struct LatestChangeRecord {
  TableId table = 0;
  std::string_view key;
  std::string_view row;  // Empty (it is gone), a LatestTwin, or layers.
};
void AppendLatestChange(const LatestChangeRecord& change, std::string* record);
// Reads the next change of a record; false if it is malformed.
bool ReadLatestChange(ByteReader* in, LatestChangeRecord* change);

// A row in a head that has one layer, with the values of a history entry of the same head.
struct LatestTwin {
  TimeUs time = 0;
  uint64_t sequence = 0;
  uint64_t entry = 0;  // The sequence of the history entry.
  uint32_t set = 0;    // The latest table's set of columns.
};
void EncodeLatestTwin(const LatestTwin& twin, std::string* record);  // Replaced.
bool IsLatestTwin(std::string_view record);
bool DecodeLatestTwin(std::string_view record, LatestTwin* twin);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_LATEST_CODEC_H_
