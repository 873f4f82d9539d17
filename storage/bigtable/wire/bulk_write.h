// BulkWrite: the rows of one batch or several, to any tables, written and tried again until each is
// acknowledged, will not be taken, or the deadline is over.
//
// Rows of a table are sorted by key, so that a call goes to few tablets, and cut into calls by
// rows, mutations and bytes; calls are under way side by side. A row of which more is written than
// a call takes goes in parts, one behind the other, cut between events where it can. What comes
// twice is as if it had come once: times are explicit, and what is folded has a token. Where the
// service does not know tokens a row that counts goes once.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_BULK_WRITE_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_BULK_WRITE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/bigtable/wire/client.h"

namespace tallyd {

// A row of more goes in parts, which are cut where the time of its cells changes, if it does; the
// Nth behind the first has "+N" behind its token.
// DO NOT CHANGE THIS: whoever finishes a batch of the journal must send what its tokens are for.
inline constexpr int kMutationsOfPart = 100'000;

// A row of it. `how` it ended is set by WriteRows.
struct BulkRow {
  const std::string* table = nullptr;  // Its full name; outlives the call.
  // Null where `check` is set. Either is the caller's, and moves to and fro.
  data_api::MutateRowsRequest::Entry* entry = nullptr;
  // A row that is written only if it holds nothing newer.
  data_api::CheckAndMutateRowRequest* check = nullptr;
  // Is to change the entry, or its next part, before each try.
  void (*before_try)(data_api::MutateRowsRequest::Entry* entry) = nullptr;
  RpcStatus ended = {};
  bool matched = false;    // Of a check that ended well: its predicate did.
  bool goes_once = false;  // It is not tried again.
  // Of a row that did not end well: one of its tries, or of its parts, may have been done all the
  // same.
  bool is_in_doubt = false;
};

enum class Paced : uint8_t {
  kYes,
  // What daemons tell each other does not wait behind what is stored: a claim would lapse.
  kNo,
};

// No table and key twice. Blocks until all have ended.
void WriteRows(BigtableClient* client, std::vector<BulkRow>* rows, SteadyTime deadline,
               Paced paced = Paced::kYes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_BULK_WRITE_H_
