// From "these fields are known, this is the time range" to the ranges of row keys that hold the
// answer: a single range, a list of buckets, a fan-out over salts or values, or everything.
//
// The template is walked from the left. Literals, known fields and salts of known fields extend
// every prefix built so far (several values fan out); a salt of an unknown field fans out over its
// n values; a time segment that sorts bounds a range, or is listed bucket by bucket when known
// segments follow it or when it does not sort; the first unknown segment ends the walk, and what
// lies right of it is left to the caller's filter. Where it is known which series are meant the
// walk begins at their time.
#ifndef TALLYD_CONFIG_SCHEMA_KEY_RANGES_H_
#define TALLYD_CONFIG_SCHEMA_KEY_RANGES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/schema/row_key_template.h"

namespace tallyd {

inline constexpr size_t kMaxRanges = 10'000;

// [start, end) in bytes; an empty end is the end of the table.
struct KeyRange {
  std::string start;
  std::string end;
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// The smallest key greater than every key with this prefix; empty when there is none.
std::string PrefixEnd(std::string_view prefix);
KeyRange PrefixRange(std::string_view prefix);
// Of one key.
KeyRange RangeOfKey(std::string_view key);

// What a query knows. Values are text as the query gave it; each spec renders them itself ("987654"
// for zero(10)).
struct KnownFields {
  // By field, any of these values; "field" stands for the names of measured fields.
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  TimeRange time;
  // Where set: of these series alone (config/series/series_key.h), in key order, each once; what
  // `values` says is then true of them.
  std::shared_ptr<const std::vector<std::string>> series = nullptr;
};

struct KeyRanges {
  std::vector<KeyRange> ranges;  // In key order, disjoint. Empty: no key can match.
  bool bounded = false;  // False: bounded by no key field and no time; reads the whole table.
  size_t bounds = 0;     // How many placeholders of fields and of times bound it.
  // Within each range rows come in order of time: the entity is wholly fixed and time is what
  // varies.
  bool time_ordered = false;
  bool time_descends = false;  // ... newest first (reverse(ms)).
  // When not bounded: the parameters that would make it a range ("hostname", "from").
  std::vector<std::string> would_bound;
};

// kUnprocessable when more than kMaxRanges ranges would be needed.
Result<KeyRanges> FindKeyRanges(const RowKeyTemplate& row_key, const KnownFields& known,
                                TimeUnit unit);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_KEY_RANGES_H_
