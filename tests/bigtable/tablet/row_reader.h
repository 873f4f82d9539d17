// RowReader: the rows that one ReadRows asks for, one after the other, each as of the moment when
// it is read.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_ROW_READER_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_ROW_READER_H_

#include <grpcpp/support/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/bigtable/tablet/cell_filter.h"
#include "tests/bigtable/tablet/key_spans.h"
#include "tests/bigtable/tablet/row_chunks.h"
#include "tests/bigtable/tablet/stored_table.h"

namespace tallyd::tablet {

class RowReader {
 public:
  RowReader(std::shared_ptr<StoredTable> table, unsigned seed)
      : table_(std::move(table)), random_(seed) {}

  grpc::Status Open(const v2::ReadRowsRequest& request);

  struct ReadRow {
    std::string key;
    Chunks chunks;  // None: the filter let nothing through.
  };
  // The next row that is there, *row empty behind the last one. Values are cut at so many bytes,
  // unless that is 0.
  grpc::Status Next(size_t value_bytes, std::optional<ReadRow>* row);

 private:
  const std::string* Locate() const;
  void StepBehind(const std::string& key);

  const std::shared_ptr<StoredTable> table_;
  std::mt19937 random_;
  CellFilter filter_;
  bool reversed_ = false;
  // What is left to be read, in the order of the reading.
  std::vector<KeySpan> spans_;
  size_t at_ = 0;
};

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_ROW_READER_H_
