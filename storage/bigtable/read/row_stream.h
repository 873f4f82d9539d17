// RowStream: the rows of some ranges, as Bigtable has them, in one direction. A stream that breaks
// is begun again behind the last row; so is one that was cut because the request would be too long.
// Pulled; not thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_READ_ROW_STREAM_H_
#define TALLYD_STORAGE_BIGTABLE_READ_ROW_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "storage/bigtable/read/chunk_merger.h"
#include "storage/bigtable/wire/client.h"
#include "storage/scan.h"

namespace tallyd {

struct RowsQuery {
  std::string table;                // Its full name.
  std::vector<KeyRange> ranges;     // Disjoint, in key order.
  std::optional<data_api::RowFilter> filter;
  uint64_t expected = 0;  // So many rows will probably do; 0: all of them are wanted.
  bool reverse = false;
  ReadLimits limits;
};

class RowStream {
 public:
  RowStream(BigtableClient* client, RowsQuery query);

  // False at the end. kUnavailable, kCancelled as ReadLimits says; kNotFound: there is no such
  // table; kUnprocessable, naming the key: a row is larger than Bigtable reads.
  Result<bool> Next();
  const WireRow& row() const { return merger_->row(); }
  // What lies before `key`, in the stream's direction, is left out.
  void SkipTo(const std::string& key);

 private:
  using Step = RowsCall::Step;

  void Begin();
  // Of the message that came last, or of the next ones; nothing: the call has ended.
  Result<std::optional<bool>> Advance();
  Result<Step> AwaitMessage();
  RpcStatus HowItEnded() const;
  // Whether there is anything left to ask for, once the call has ended well.
  bool GoOnAfterEnd();
  void LeaveOutRead();
  void Cut(const std::string& key, bool with_key);
  Error ErrorOfEnd(const RpcStatus& ended) const;

  BigtableClient& client_;
  RowsQuery query_;  // Its ranges are what is left.
  std::unique_ptr<ChunkMerger> merger_;
  std::unique_ptr<RowsCall> call_;
  data_api::ReadRowsResponse message_;
  int next_chunk_ = 0;
  std::string last_key_;  // The last row read or passed over; empty: none.
  size_t ranges_asked_ = 0;
  uint64_t rows_asked_ = 0;  // By the call; 0: all.
  uint64_t rows_came_ = 0;
  bool is_silent_ = false;  // The call was given up.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_READ_ROW_STREAM_H_
