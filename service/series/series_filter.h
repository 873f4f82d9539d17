// SeriesFilter: which series of a table are meant by one of the fields that their keys tell.
#ifndef TALLYD_SERVICE_SERIES_SERIES_FILTER_H_
#define TALLYD_SERVICE_SERIES_SERIES_FILTER_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/series/series_key.h"

namespace tallyd {

struct SeriesFilter {
  std::string field;
  std::vector<std::string> values = {};  // The field's text is any of these ...
  std::function<bool(std::string_view)> wants = {};  // ... or, where this is set, as it says.
  // A series that does not have the field matches, too: some event of it may have it otherwise
  // than in its key.
  bool or_without = false;

  // Whether an index from fields and values to series knows those that match.
  bool has_terms() const { return !wants && !or_without; }
};

// Whether the fields of a series match all filters.
bool MatchesAll(const SeriesKey& keys, std::span<const KeyField> fields,
                std::span<const SeriesFilter> filters);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_FILTER_H_
