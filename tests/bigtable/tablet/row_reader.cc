#include "tests/bigtable/tablet/row_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/bigtable/tablet/limits.h"

namespace tallyd::tablet {

grpc::Status RowReader::Open(const v2::ReadRowsRequest& request) {
  reversed_ = request.reversed();
  const grpc::Status spans = SpansOf(request.rows(), &spans_);
  if (!spans.ok()) return spans;
  if (reversed_) std::ranges::reverse(spans_);
  return CompileFilter(request.filter(), table_->granularity_us, &filter_);
}

// The key that comes next in the span at hand. REQUIRES: the table's mutex is held.
const std::string* RowReader::Locate() const {
  const KeySpan& span = spans_[at_];
  const auto& rows = table_->rows;
  if (!reversed_) {
    const auto row = rows.lower_bound(span.begin);
    return row == rows.end() || (span.end && row->first >= *span.end) ? nullptr : &row->first;
  }
  auto row = span.end ? rows.lower_bound(*span.end) : rows.end();
  if (row == rows.begin()) return nullptr;
  --row;
  return row->first < span.begin ? nullptr : &row->first;
}

void RowReader::StepBehind(const std::string& key) {
  if (reversed_) {
    spans_[at_].end = key;
  } else {
    spans_[at_].begin = key + '\0';
  }
}

grpc::Status RowReader::Next(size_t value_bytes, std::optional<ReadRow>* row) {
  row->reset();
  const std::scoped_lock lock(table_->mutex);
  const std::string* key = nullptr;
  while (at_ < spans_.size() && (key = Locate()) == nullptr) ++at_;
  if (key == nullptr) return grpc::Status::OK;
  const StoredRow& stored = table_->rows.at(*key);
  if (const size_t bytes = BytesOf(stored); bytes > kRowBytesMax) {
    return {grpc::StatusCode::FAILED_PRECONDITION,
            "Error while reading table '" + table_->name + "' : Read returned " +
                std::to_string(bytes >> 20) + "MiB from row '" + *key +
                "' which exceeds the limit of 256MiB."};
  }
  row->emplace();
  (*row)->key = *key;
  const FilteredCells cells = Filter(filter_, *key, CellsOf(*table_, stored), &random_);
  if (!cells.empty()) (*row)->chunks = ChunksOf(*key, cells, value_bytes);
  StepBehind((*row)->key);
  return grpc::Status::OK;
}

}  // namespace tallyd::tablet
