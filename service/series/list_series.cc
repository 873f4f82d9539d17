#include "service/series/list_series.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "service/limits/pages.h"
#include "service/series/series_scan.h"

namespace tallyd {
namespace {

// An answer has each series' fields as text, with their names, and the page has its key.
constexpr uint64_t kTimesHeld = 6;
constexpr uint64_t kSeriesBytes = 64;

uint64_t BytesOf(std::string_view series) { return kSeriesBytes + kTimesHeld * series.size(); }

size_t Placeholders(const SeriesKey& keys) {
  return static_cast<size_t>(
      std::ranges::count_if(keys.segments(), [](const Segment& s) { return !s.is_literal(); }));
}

// What of the ranges comes behind the series.
std::vector<KeyRange> Behind(std::vector<KeyRange> ranges, const SeriesKey& keys,
                             const std::optional<std::string>& after) {
  if (!after) return ranges;
  const std::string start = keys.RangeOf(*after).end;
  std::erase_if(ranges, [&start](const KeyRange& range) {
    return start.empty() || (!range.end.empty() && range.end <= start);
  });
  if (!ranges.empty()) ranges.front().start = std::max(ranges.front().start, start);
  return ranges;
}

Result<SeriesPage> PageOf(SeriesIndex::Found found, size_t limit, ReadMemoryPtr memory) {
  SeriesPage page;
  MemoryCharge charge(std::move(memory));
  uint64_t bytes = 0;
  for (std::string& series : found.series) {
    if (page.series.size() == limit) {
      page.last = page.series.back();
      break;
    }
    bytes += BytesOf(series);
    if (!charge.Covers(bytes)) return charge.refusal();
    page.series.push_back(std::move(series));
  }
  page.held = std::move(charge);
  return page;
}

}  // namespace

std::optional<SeriesTable> TableOfSeries(const Schema& schema, const Stream& stream,
                                         const std::vector<SeriesFilter>& filters) {
  std::optional<SeriesTable> best;
  const auto rank = [](const SeriesTable& of) {
    return std::tuple(!of.table->row_key.names_measured_field(), of.table->row_key.holds_labels(),
                      Placeholders(of.keys), KeepsEvents(*of.table));
  };
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    const auto keys = SeriesKey::Of(table.row_key, table.time_field);
    const auto is_told = [&](const SeriesFilter& filter) {
      return SeriesTells(table, *keys, filter.field, true);
    };
    if (!keys || !std::ranges::all_of(filters, is_told)) continue;
    SeriesTable one{&table, *keys};
    if (!best || rank(one) > rank(*best)) best = std::move(one);
  }
  return best;
}

Result<SeriesPage> ListSeriesOf(const SeriesSearch& search,
                                const std::optional<std::string>& after, Store& store,
                                ReadMemoryPtr memory) {
  std::vector<KeyRange> ranges = Behind(
      RangesOfSeries(search.table, search.filters, search.clamp, search.unit),
      search.keys, after);
  if (!FiltersLeadSeries(search.keys, search.filters)) {
    if (auto found = SearchIndexed(search, ranges, kMaxLimit); found && found->are_all) {
      return PageOf(std::move(*found), search.limit, std::move(memory));
    }
  }
  MemoryCharge charge(std::move(memory));
  const uint64_t scan_bytes = BytesOfScan(charge.memory().get());
  uint64_t bytes = scan_bytes;
  SeriesPage page;
  SeriesScan scan(store, search.stored, search.keys,
                  {std::move(ranges), search.now, search.clamp, {}});
  while (true) {
    if (!charge.Covers(bytes)) return charge.refusal();
    const Result<bool> more = scan.Next();
    if (!more) return more.error();
    if (!*more) break;
    if (!MatchesAll(search.keys, scan.fields(), search.filters)) continue;
    if (page.series.size() == search.limit) {
      page.last = page.series.back();
      break;
    }
    page.series.emplace_back(scan.series());
    bytes += BytesOf(scan.series());
  }
  page.held = std::move(charge);
  return page;
}

}  // namespace tallyd
