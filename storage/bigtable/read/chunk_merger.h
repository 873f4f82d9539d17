// ChunkMerger: the chunks of a ReadRows stream put together to rows, and held to the rules of the
// protocol: bytes come from outside.
//
//   Result<bool> complete = merger.Add(chunk);
//   if (complete && *complete) Use(merger.row());
//
// A row is valid until the next Add. Not thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_CHUNK_MERGER_H_
#define TALLYD_STORAGE_BIGTABLE_READ_CHUNK_MERGER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/batch.h"
#include "storage/bigtable/proto/bigtable_data.pb.h"

namespace tallyd {

struct WireCell {
  std::string_view family;
  std::string_view qualifier;
  int64_t time = 0;  // Microseconds.
  std::string_view value;
};

// As the service sends it: cells of a column together, the newest first.
struct WireRow {
  std::string key;
  std::vector<WireCell> cells;
};

class ChunkMerger {
 public:
  explicit ChunkMerger(bool reversed) : reversed_(reversed) {}
  ChunkMerger(const ChunkMerger&) = delete;
  ChunkMerger& operator=(const ChunkMerger&) = delete;

  // True: row() is complete. kCorruption: the chunk breaks the protocol.
  Result<bool> Add(const google::bigtable::v2::ReadRowsResponse::CellChunk& chunk);
  const WireRow& row() const { return row_; }
  // Whether a row has begun and is not complete. A stream that ends so was broken.
  bool is_inside() const { return is_inside_; }
  // What came of a row goes, as the stream that it came by; keys go on from the last complete one.
  void DropHalfRow() { is_inside_ = false; }

 private:
  using Chunk = google::bigtable::v2::ReadRowsResponse::CellChunk;

  Status Begin(const Chunk& chunk);
  Status TakeColumn(const Chunk& chunk);
  Result<bool> TakeValue(const Chunk& chunk);

  const bool reversed_;
  WireRow row_;
  Arena arena_;
  bool is_inside_ = false;
  bool any_row_ = false;   // last_key_ is one's.
  std::string last_key_;   // Of the last row that was complete.
  std::string_view family_;
  std::string_view qualifier_;
  bool in_value_ = false;  // A value has come in part.
  int64_t value_time_ = 0;
  uint64_t value_size_ = 0;  // That it was said to have.
  std::string value_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_CHUNK_MERGER_H_
