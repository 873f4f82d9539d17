#include "config/schema/key_ranges.h"

#include <algorithm>

#include "config/schema/key_walk.h"

namespace tallyd {
namespace {

// An empty end is the end of the table, beyond every key.
bool EndsBefore(const std::string& a, const std::string& b) {
  return !a.empty() && (b.empty() || a < b);
}

// In key order, without what another range holds already.
void SortAndMerge(std::vector<KeyRange>* ranges) {
  std::ranges::sort(*ranges, {}, &KeyRange::start);
  std::vector<KeyRange> merged;
  for (KeyRange& range : *ranges) {
    if (merged.empty() || (!merged.back().end.empty() && merged.back().end <= range.start)) {
      merged.push_back(std::move(range));
    } else if (EndsBefore(merged.back().end, range.end)) {
      merged.back().end = std::move(range.end);
    }
  }
  *ranges = std::move(merged);
}

}  // namespace

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

KeyRange PrefixRange(std::string_view prefix) { return {std::string(prefix), PrefixEnd(prefix)}; }

KeyRange RangeOfKey(std::string_view key) { return {std::string(key), std::string(key) + '\0'}; }

Result<KeyRanges> FindKeyRanges(const RowKeyTemplate& row_key, const KnownFields& known,
                                TimeUnit unit) {
  KeyRanges found;
  if (known.time.is_empty()) {
    found.bounded = found.time_ordered = true;
    return found;
  }
  Result<KeyRanges> walked = KeyWalk(row_key, known, unit).Run();
  if (walked) SortAndMerge(&walked->ranges);
  return walked;
}

}  // namespace tallyd
