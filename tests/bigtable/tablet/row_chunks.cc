#include "tests/bigtable/tablet/row_chunks.h"

#include <string_view>
#include <utility>

namespace tallyd::tablet {
namespace {

// The rest of a value behind its first part, a chunk for each part. Parts tell the length of the
// whole value, but for the last.
void CutValue(std::string_view value, size_t value_bytes, Chunks* chunks) {
  const auto length = static_cast<int32_t>(value.size());
  chunks->back().set_value(std::string(value.substr(0, value_bytes)));
  chunks->back().set_value_size(length);
  for (size_t at = value_bytes; at < value.size(); at += value_bytes) {
    v2::ReadRowsResponse::CellChunk part;
    part.set_value(std::string(value.substr(at, value_bytes)));
    if (at + value_bytes < value.size()) part.set_value_size(length);
    chunks->push_back(std::move(part));
  }
}

}  // namespace

Chunks ChunksOf(const std::string& row_key, const FilteredCells& cells, size_t value_bytes) {
  Chunks chunks;
  const FilteredCell* before = nullptr;
  for (const FilteredCell& cell : cells) {
    v2::ReadRowsResponse::CellChunk chunk;
    if (before == nullptr) chunk.set_row_key(row_key);
    const bool new_family = before == nullptr || before->family != cell.family;
    if (new_family) chunk.mutable_family_name()->set_value(std::string(cell.family_name));
    if (new_family || before->qualifier != cell.qualifier) {
      chunk.mutable_qualifier()->set_value(std::string(cell.qualifier));
    }
    chunk.set_timestamp_micros(cell.time_us);
    for (const std::string& label : cell.labels) chunk.add_labels(label);
    chunks.push_back(std::move(chunk));
    if (value_bytes > 0 && cell.value.size() > value_bytes) {
      CutValue(cell.value, value_bytes, &chunks);
    } else {
      chunks.back().set_value(std::string(cell.value));
    }
    before = &cell;
  }
  chunks.back().set_commit_row(true);
  return chunks;
}

}  // namespace tallyd::tablet
