// KeySpans: the rows that a request names, keys and ranges in any order and overlapping, as spans
// that do not overlap, in the order of their keys.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_KEY_SPANS_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_KEY_SPANS_H_

#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

struct KeySpan {
  std::string begin;
  std::optional<std::string> end;  // Not in the span. None: it has no end.
};

// INVALID_ARGUMENT where a range ends before it begins. A set of nothing is all rows.
grpc::Status SpansOf(const v2::RowSet& rows, std::vector<KeySpan>* spans);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_KEY_SPANS_H_
