// CatalogueRows: the table in which the daemons of one instance keep what they share beside rows:
// its rows are read, written, and changed by compare-and-set.
//
//   s            the schema: `version` (a number and who set it), `print` of the file and
//                `p/STREAM` of its streams, its `generation`, `next` table's number, `s/STREAM`
//                units, `t/NUMBER` records of tables; one that is staged (StagedName) has the
//                rows of the table behind whose name it is
//   f/STREAM     fields: FIELD NUL BIT of each type, FIELD NUL s for its spelling; `n`: 16 digits,
//                other ones at each change
//   m/NUMBER     fields that a table missed: HOW FIELD; `n` likewise
//   n/KEY        memos: `v`
//   k/KEY        claims (claim_rows.h)
//   c            how far the retention clock is: `v`
//   g            what was found of rules of garbage collection (gc_watch.h)
//   p/1, p/2     rows by which it is found out whether the service scans in reverse
//   p/claim      `v`: 32 digits that no other store has, of whoever claimed the row first
//   p/fold-ID    for a moment: how the service folds (fold_probe.h), in families `fs` and `fx`
//
// All else in family `c`, of one version. Blocks, with the client's deadline; any thread.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_CATALOGUE_ROWS_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_CATALOGUE_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "storage/bigtable/read/row_stream.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

// Behind the prefix; no table of a configuration may be called so.
inline constexpr std::string_view kCatalogueTable = "tallyd_catalogue";
inline constexpr std::string_view kCatalogueFamily = "c";
inline constexpr std::string_view kSchemaRow = "s";
inline constexpr std::string_view kVersionColumn = "version";
inline constexpr std::string_view kMemoRows = "n/";      // Behind it the memo's key.
inline constexpr std::string_view kValueColumn = "v";    // Of rows that hold one value.
inline constexpr std::string_view kChangedColumn = "n";  // Of rows of fields.

// The cells of one of its rows, by qualifier.
using CatalogueCells = std::map<std::string, std::string>;
struct CatalogueRow {
  std::string key;
  CatalogueCells cells;
};
using CatalogueEntry = data_api::MutateRowsRequest::Entry;

void SetCatalogueCell(std::string_view qualifier, std::string_view value, int64_t time,
                      data_api::Mutation* mutation);
void SetCatalogueCell(std::string_view qualifier, std::string_view value, int64_t time,
                      CatalogueEntry* entry);

// As the last of an entry of a row of fields: the row gets a mark that it never had, at each try to
// write it another one.
void MarkChanged(CatalogueEntry* entry);

class CatalogueRows {
 public:
  // `client` outlives it.
  explicit CatalogueRows(BigtableClient* client);

  // Makes the table if it is not there and may be made, and proves by a first claim that the app
  // profile takes single-row transactions. kInvalid, naming the key: it does not, or the instance
  // is not there. kUnavailable: try again. `until`: of the claim, in place of the client's
  // deadline.
  Status Open(std::optional<SteadyTime> until = {});
  // Tells these tables from any others that were ever called so; empty: nobody gave them one.
  Result<std::string> StoreId(SteadyTime until);
  // Whether a reverse scan comes in reverse: Google's emulator answers it in ascending order.
  Result<bool> TakesReverseScans();

  // `until`: in place of the client's deadline.
  Result<CatalogueCells> Read(std::string_view key, std::optional<SteadyTime> until = {});
  // In key order, at most `limit`; 0: all.
  Result<std::vector<CatalogueRow>> ReadRange(const KeyRange& range, uint64_t limit,
                                              std::optional<SteadyTime> until = {});
  // Of the ranges, which are in key order; of each row only `column`, or, where that is empty, all.
  Result<std::vector<CatalogueRow>> ReadRanges(std::vector<KeyRange> ranges,
                                               std::string_view column,
                                               std::optional<SteadyTime> until = {});
  // Each row whole; together not.
  Status Write(std::vector<CatalogueEntry> entries);
  // Each row by itself, side by side; of each whether its predicate matched. A try whose answer was
  // lost may have been done, and then the next one is judged by what it left.
  Result<std::vector<bool>> Check(std::vector<data_api::CheckAndMutateRowRequest> requests,
                                  SteadyTime until);
  // Sets one cell to `after` if it is still `before` (empty: there is none). False: it is not. Told
  // right even where an answer was lost, if nobody else sets it to the same.
  Result<bool> Swap(std::string_view row, std::string_view column, const std::string& before,
                    const std::string& after);
  // Sets the schema row to `cells` if its version is still `before` (empty: it has none). False: it
  // is not. Told right even where an answer was lost: versions are never set twice.
  Result<bool> ReplaceSchema(const std::string& before, const CatalogueCells& cells);

 private:
  Result<std::vector<CatalogueRow>> ReadAll(RowsQuery query);
  void Send(std::vector<BulkRow>* rows, SteadyTime until);
  Status Claim(SteadyTime until);

  BigtableClient& client_;
  const std::string table_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_CATALOGUE_ROWS_H_
