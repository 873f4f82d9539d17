#include "tests/bigtable/tablet/key_spans.h"

#include <algorithm>
#include <utility>

namespace tallyd::tablet {
namespace {

std::string Behind(const std::string& key) { return key + '\0'; }

KeySpan SpanOf(const v2::RowRange& range) {
  KeySpan span;
  if (range.has_start_key_closed()) span.begin = range.start_key_closed();
  // An open "" is before the first row, which has a longer key than that.
  if (range.has_start_key_open() && !range.start_key_open().empty()) {
    span.begin = Behind(range.start_key_open());
  }
  if (range.has_end_key_open() && !range.end_key_open().empty()) span.end = range.end_key_open();
  if (range.has_end_key_closed()) span.end = Behind(range.end_key_closed());
  return span;
}

bool IsInverted(const v2::RowRange& range) {
  const std::string& start =
      range.has_start_key_open() ? range.start_key_open() : range.start_key_closed();
  if (range.has_end_key_open())
    return !range.end_key_open().empty() && start > range.end_key_open();
  return range.has_end_key_closed() && !range.end_key_closed().empty() &&
         start > range.end_key_closed();
}

}  // namespace

grpc::Status SpansOf(const v2::RowSet& rows, std::vector<KeySpan>* spans) {
  std::vector<KeySpan> found;
  for (const std::string& key : rows.row_keys()) found.push_back({key, Behind(key)});
  for (int i = 0; i < rows.row_ranges_size(); ++i) {
    if (IsInverted(rows.row_ranges(i))) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "Error in element #" + std::to_string(i) +
                  ": start_key_closed must be less than end_key_open"};
    }
    found.push_back(SpanOf(rows.row_ranges(i)));
  }
  if (found.empty()) found.emplace_back();
  std::erase_if(found, [](const KeySpan& span) { return span.end && *span.end <= span.begin; });
  std::ranges::sort(found, {}, &KeySpan::begin);
  spans->clear();
  for (KeySpan& span : found) {
    const bool joins = !spans->empty() && (!spans->back().end || span.begin <= *spans->back().end);
    if (!joins) {
      spans->push_back(std::move(span));
    } else if (spans->back().end && (!span.end || *span.end > *spans->back().end)) {
      spans->back().end = std::move(span.end);
    }
  }
  return grpc::Status::OK;
}

}  // namespace tallyd::tablet
