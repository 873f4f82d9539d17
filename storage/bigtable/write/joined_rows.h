// JoinedRows: the rows of several batches as calls have them: each once, with what the batches do
// to it in the order in which they count. Beside it the tokens by which the service knows again
// what counts. One thread.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_JOINED_ROWS_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_JOINED_ROWS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

// The service forgets a token a quarter of an hour later.
inline constexpr std::chrono::minutes kTokenLife{14};

// Gives an entry the token of this number among those that begin so.
void GiveToken(const std::string& head, size_t number, data_api::MutateRowsRequest::Entry* entry);

class JoinedRows {
 public:
  // Of each row, and each batch that has it.
  using Ended =
      std::function<void(size_t user, const BigtableBatch::Entry& row, const BulkRow& written)>;

  explicit JoinedRows(int64_t grain_us) : grain_us_(grain_us) {}

  bool empty() const { return rows_.empty(); }
  // In the order in which the batches count. `user`: whose failure one of the row is. The row
  // outlives this.
  void Add(size_t user, BigtableBatch::Entry* row);
  // So that the service knows each row when it comes again; those of the journal have theirs.
  void GiveTokens();
  void Write(BigtableClient* client, SteadyTime deadline, const Ended& ended);

 private:
  struct Joined {
    BigtableBatch::Entry* row = nullptr;
    std::unique_ptr<BigtableBatch::Entry> merged;  // It is this, where several have it.
    std::vector<size_t> users;
  };
  const int64_t grain_us_;
  std::vector<Joined> rows_;
  std::map<std::pair<TableId, std::string_view>, size_t> places_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_JOINED_ROWS_H_
