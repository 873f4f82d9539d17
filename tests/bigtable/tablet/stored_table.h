// StoredTable: one table of the server, in memory: its families, rows and tablets. Whoever reads or
// changes it holds its mutex; nothing in here takes it.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_STORED_TABLE_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_STORED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

enum class Folding : uint8_t { kNone, kSum, kMin, kMax };  // Aggregate families fold.

struct StoredFamily {
  int serial = 0;  // Cells of a row come in the order in which their families were made.
  Folding folding = Folding::kNone;
  admin::ColumnFamily definition;
};

using Versions = std::map<int64_t, std::string, std::greater<>>;  // By time, newest first.
using Columns = std::map<std::string, Versions>;                  // By qualifier.
using StoredRow = std::map<int, Columns>;                         // By family. Nothing is empty.

class StoredTable {
 public:
  StoredTable(std::string full_name, int64_t granularity)
      : name(std::move(full_name)), granularity_us(granularity) {}

  const std::string name;        // projects/P/instances/I/tables/T
  const int64_t granularity_us;  // Times of cells are multiples of it: 1000, or 1.
  std::mutex mutex;
  // All that follows is guarded by mutex.
  std::map<std::string, StoredFamily> families;
  int next_serial = 0;
  std::map<std::string, StoredRow> rows;
  std::set<std::string> splits;  // The first keys of all tablets but the first.
  bool deletion_protection = false;
  // When an idempotency token of a row was first used, in microseconds.
  std::map<std::pair<std::string, std::string>, int64_t> tokens;

  const std::string* NameOf(int serial) const;
  // Removes what the families' GC rules no longer keep at that time.
  void CollectGarbage(int64_t now_us);
  // Cuts the tablets that hold more rows than that in two.
  void SplitTablets(size_t rows_max);
  void Drop(const std::string& prefix);  // The rows whose keys begin so; all of them, if empty.
  // Tablets' ends, the last one's is empty, and about how many bytes lie before each.
  std::vector<std::pair<std::string, int64_t>> Samples() const;
};

size_t BytesOf(const StoredRow& row);
// The 8 bytes, big-endian, that a number of an aggregate cell or an increment is.
std::string PutInt64(int64_t number);
// REQUIRES: bytes.size() == 8.
int64_t GetInt64(const std::string& bytes);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_STORED_TABLE_H_
