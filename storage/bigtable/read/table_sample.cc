#include "storage/bigtable/read/table_sample.h"

#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

namespace tallyd {
namespace {

constexpr size_t kMostRows = 1024;
constexpr uint64_t kUsualRowBytes = 200;
// Fewer rows of the sample than these tell little of a range.
constexpr size_t kTellingRows = 4;
// A part of a table that is read by a stream of its own has so many bytes, about a second's.
constexpr uint64_t kLeastBytesOfPart = 64u << 20;
constexpr size_t kBytesOfPlace = 8;  // Of a key, behind what its neighbours have in common.

// Where a key lies between two others, from 0 to 1, if keys lie evenly there. Digits stand in tens.
double ShareBelow(std::string_view key, std::string_view first, std::string_view last) {
  if (key <= first) return 0;
  if (!last.empty() && key >= last) return 1;
  const auto at = [](std::string_view text, size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto is_digit = [&](std::string_view text, size_t i) {
    return at(text, i) >= '0' && at(text, i) <= '9';
  };
  // Of the end of the table all that is known is that no key begins with a greater byte.
  const std::string end = last.empty() ? std::string(1, '\x7f') : std::string(last);
  size_t alike = 0;
  while (alike < first.size() && at(first, alike) == at(end, alike)) ++alike;
  double below = 0;
  double all = 0;
  for (size_t i = alike; i < alike + kBytesOfPlace; ++i) {
    const bool digits = is_digit(key, i) && is_digit(first, i) && is_digit(end, i);
    const double base = digits ? 10 : 256;
    below = below * base + at(key, i) - at(first, i);
    all = all * base + at(end, i) - at(first, i);
  }
  return all > 0 ? std::clamp(below / all, 0.0, 1.0) : 0.5;
}

// Bytes that lie before the key. Of ten thousand ranges in a large table it is asked for each end.
double BytesBefore(std::string_view key, const TableSample::Places& places) {
  const auto next = std::ranges::partition_point(
      places, [&](const auto& place) { return !place.first.empty() && place.first <= key; });
  const bool is_first = next == places.begin();
  const std::string_view first = is_first ? std::string_view() : std::prev(next)->first;
  const uint64_t before = is_first ? 0 : std::prev(next)->second;
  if (next == places.end()) return static_cast<double>(before);
  return static_cast<double>(before) +
         static_cast<double>(next->second - before) * ShareBelow(key, first, next->first);
}

uint64_t Rounded(double number) {
  return number > 0 ? static_cast<uint64_t>(number + 0.5) : 0;
}

}  // namespace

// Rows of the sample that lie in some ranges, in the order of their times.
struct TableSample::Spread {
  std::vector<SeenRow> rows;

  // Rows, and entries of them, of that time. A row of one time stands for others that were not
  // sampled: it lies anywhere up to the next.
  std::pair<double, double> Within(const TimeRange& cells) const {
    double in_rows = 0;
    double entries = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const SeenRow& row = rows[i];
      TimeUs end = row.last + 1;
      if (row.first == row.last && i + 1 < rows.size()) end = std::max(end, rows[i + 1].first);
      const TimeUs from = std::max(row.first, cells.from);
      const TimeUs to = std::min(end, cells.to);
      if (from >= to) continue;
      const double share = static_cast<double>(to - from) / static_cast<double>(end - row.first);
      const double of_row = share * static_cast<double>(row.entries);
      entries += of_row;
      in_rows += std::min(of_row, 1.0);
    }
    return {in_rows, entries};
  }
};

uint64_t TableSample::HashOf(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

void TableSample::Take(std::string_view key, const SeenRow& seen, bool is_new) {
  const std::lock_guard lock(mutex_);
  const auto known = rows_.find(key);
  if (known == rows_.end()) {
    rows_.emplace(key, seen);
  } else {
    SeenRow& row = known->second;
    const bool adds = is_new && (seen.last < row.first || seen.first > row.last);
    row.entries = adds ? row.entries + seen.entries : std::max(row.entries, seen.entries);
    row.bytes = adds ? row.bytes + seen.bytes : std::max(row.bytes, seen.bytes);
    row.first = std::min(row.first, seen.first);
    row.last = std::max(row.last, seen.last);
  }
  while (rows_.size() > kMostRows) {
    const uint64_t half = threshold_.load(std::memory_order_relaxed) >> 1;
    threshold_.store(half, std::memory_order_relaxed);
    std::erase_if(rows_, [&](const auto& row) { return HashOf(row.first) >> kHashShift > half; });
  }
}

void TableSample::Forget(const KeyRange& rows) {
  const std::lock_guard lock(mutex_);
  const auto end = rows.end.empty() ? rows_.end() : rows_.lower_bound(rows.end);
  rows_.erase(rows_.lower_bound(rows.start), end);
  // What the service told is of before.
  places_.clear();
  has_places_ = false;
}

void TableSample::SetPlaces(Places places) {
  // They come from outside: an order and a sum that nobody keeps is nobody's measure.
  uint64_t bytes = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_end = places[i].first.empty();
    const bool ascends = i == 0 || is_end || places[i - 1].first < places[i].first;
    if (!ascends || (is_end && i + 1 < places.size()) || places[i].second < bytes) return;
    bytes = places[i].second;
  }
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
  has_places_ = true;
  was_asked_ = false;
}

uint64_t TableSample::BytesOfRow() const {
  if (rows_.empty()) return kUsualRowBytes;
  uint64_t bytes = 0;
  for (const auto& [key, row] : rows_) bytes += row.bytes + key.size();
  return std::max<uint64_t>(bytes / rows_.size(), 1);
}

double TableSample::BytesIn(std::span<const KeyRange> ranges) const {
  if (places_.empty()) return 0;
  double bytes = 0;
  const auto all = static_cast<double>(places_.back().second);
  for (const KeyRange& range : ranges) {
    const double end = range.end.empty() ? all : BytesBefore(range.end, places_);
    bytes += std::max(end - BytesBefore(range.start, places_), 0.0);
  }
  return bytes;
}

// How many rows each of the sample stands for.
double TableSample::RowsOfOne() const {
  constexpr double kEvery = static_cast<double>(~uint64_t{0} >> kHashShift);
  const double seen = kEvery / static_cast<double>(threshold_.load(std::memory_order_relaxed));
  if (rows_.empty() || places_.empty()) return seen;
  const auto stored =
      static_cast<double>(places_.back().second) / static_cast<double>(BytesOfRow());
  return std::max(seen, stored / static_cast<double>(rows_.size()));
}

ScanEstimate TableSample::Estimate(std::span<const KeyRange> ranges, const TimeRange& cells,
                                   TimeUs oldest) {
  was_asked_ = true;
  const std::lock_guard lock(mutex_);
  std::erase_if(rows_, [&](const auto& row) { return row.second.last < oldest; });
  const double bytes = BytesIn(ranges);
  const auto of_row = static_cast<double>(BytesOfRow());
  ScanEstimate estimate{.streams = 1};
  if (rows_.empty()) {
    estimate.rows = estimate.entries = Rounded(bytes / of_row);
    estimate.bytes = Rounded(bytes);
    return estimate;
  }
  Spread here;
  for (const KeyRange& range : ranges) {
    const auto end = range.end.empty() ? rows_.end() : rows_.lower_bound(range.end);
    for (auto row = rows_.lower_bound(range.start); row != end && row != rows_.end(); ++row) {
      if (!range.end.empty() && row->first >= range.end) break;
      here.rows.push_back(row->second);
    }
  }
  std::ranges::sort(here.rows, {}, &SeenRow::first);
  const double of_one = RowsOfOne();
  auto [rows, entries] = here.Within(cells);
  rows *= of_one;
  entries *= of_one;
  const bool tells = here.rows.size() >= kTellingRows || of_one <= 1 || places_.empty();
  if (!tells) {
    // Their place among the service's keys tells more, and the whole table's times.
    Spread all;
    for (const auto& [key, row] : rows_) all.rows.push_back(row);
    std::ranges::sort(all.rows, {}, &SeenRow::first);
    const double share = all.Within(cells).first / static_cast<double>(all.rows.size());
    const double stored = static_cast<double>(places_.back().second) / of_row;
    const double most = static_cast<double>(here.rows.size() + 1) * of_one;
    rows = entries = std::min({bytes / of_row, most, std::max(share, 0.0) * stored});
  }
  estimate.rows = Rounded(rows);
  estimate.entries = std::max(Rounded(entries), estimate.rows);
  estimate.bytes = Rounded(rows * of_row);
  return estimate;
}

std::vector<KeyRange> TableSample::Split(const KeyRange& range, size_t parts,
                                         uint64_t least_entries) const {
  const std::lock_guard lock(mutex_);
  const double bytes = BytesIn({&range, 1});
  const auto least = static_cast<double>(
      std::max(kLeastBytesOfPart, std::min<uint64_t>(least_entries, 1u << 30) * BytesOfRow()));
  const double most_parts = std::min(static_cast<double>(parts), bytes / least);
  const double of_part = most_parts >= 2 ? bytes / most_parts : bytes;
  std::vector<KeyRange> cut;
  std::string start = range.start;
  double begin = BytesBefore(range.start, places_);
  for (const auto& [key, before] : places_) {
    const auto at = static_cast<double>(before);
    const bool is_inside = !key.empty() && key > start && (range.end.empty() || key < range.end);
    if (most_parts < 2 || !is_inside || at - begin < of_part || cut.size() + 1 >= parts) continue;
    cut.push_back({std::move(start), key});
    start = key;
    begin = at;
  }
  cut.push_back({std::move(start), range.end});
  return cut;
}

}  // namespace tallyd
