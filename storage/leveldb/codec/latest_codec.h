// The bytes of rows of latest tables (storage/FORMAT.md: Latest): as stored, as held in memory, and
// what a head has of them when a group of batches changed them. The only place that knows these
// bytes.
//
// Names and failures are as in entry_codec.h.
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
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/table_info.h"

namespace tallyd {

// A row of a latest table is layers, each what one event wrote, newest first.
struct Layer {
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::string_view entry;

  bool IsNewerThan(const Layer& other) const {
    return WriteMoment{time, sequence}.IsNewerThan({other.time, other.sequence});
  }
};

void EncodeLatest(std::span<const Layer> layers, std::string* record);  // Replaced.
// The row of one layer: its size, and its bytes, of which the end is returned.
size_t LatestSize(const Layer& layer);
char* EncodeLatest(char* to, const Layer& layer);
// False if malformed, or not newest first. The entries view `record`; *layers is replaced.
bool DecodeLatest(std::string_view record, std::vector<Layer>* layers);
// The newest layer of a row that DecodeLatest took before, and whether it has no other.
bool GetNewestLayer(std::string_view record, Layer* newest, bool* alone);

// Layers that were added to a row, one behind the other as they came: they may be older than what
// came before, or have the same columns.
void AppendLayer(const Layer& layer, std::string* layers);
// Appended to *layers. False if malformed.
bool DecodeLayers(std::string_view bytes, std::vector<Layer>* layers);

// A row with so many bytes and layers that an event should not cost a merge of all of them.
bool IsWide(std::string_view row);

// How memory holds a wide row that takes up events: open, with room behind for layers that are
// added. It is never stored so.
struct OpenRow {
  uint32_t mark = 0;        // Of whom has it, as LatestGroup says.
  std::string_view folded;  // As EncodeLatest has it.
  std::string_view added;   // As AppendLayer has them.
};
// Whether a row in memory is open. Any other is as EncodeLatest has it.
inline bool IsOpen(std::string_view held) { return !held.empty() && held[0] == '\0'; }
size_t OpenRowSize(const OpenRow& row);
void EncodeOpenRow(char* to, const OpenRow& row);
// False if it is none.
bool DecodeOpenRow(std::string_view held, OpenRow* row);
// All layers of a row in memory, open or not, in any order; *layers is replaced. False if it is
// malformed.
bool DecodeHeld(std::string_view held, std::vector<Layer>* layers);

// What a group of batches makes of latest rows, as a head has it: one record, so that it takes one
// entry of the head and not one for each row.
struct LatestChangeRecord {
  TableId table = 0;
  std::string_view key;
  std::string_view row;  // Empty (it is gone), a LatestTwin, an addition, or layers.
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

// Layers that are added to the row as the change before left it.
bool IsLatestAddition(std::string_view record);
std::string_view LayersOfAddition(std::string_view record);  // REQUIRES: it is one.
void AppendAddition(TableId table, std::string_view key, std::string_view layers,
                    ByteBuffer* record);

// A change to a row of one layer, as AppendLatestChange has it: the layer, or a reference to it.
void AppendLayerChange(TableId table, std::string_view key, const Layer& layer, ByteBuffer* record);
void AppendTwinChange(TableId table, std::string_view key, const LatestTwin& twin,
                      ByteBuffer* record);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_LATEST_CODEC_H_
