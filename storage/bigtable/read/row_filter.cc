#include "storage/bigtable/read/row_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "config/values/glob.h"
#include "storage/bigtable/codec/cell_time.h"
#include "storage/cell_merge.h"

namespace tallyd {
namespace {

using google::bigtable::v2::RowFilter;

constexpr size_t kMaxFilterBytes = 18'000;  // Bigtable takes 20,480.
// Bounds of times nobody has.
constexpr TimeUs kEndOfTimes = kMaxTimeUs + 1;

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

RowFilter OfFamilies(const std::vector<std::string>& families) {
  std::string regex;
  for (const std::string& family : families) {
    regex.append(regex.empty() ? "" : "|").append(RegexOfGlob(family));
  }
  RowFilter filter;
  filter.set_family_name_regex_filter(regex);
  return filter;
}

RowFilter OfColumns(const std::string& family, const std::set<std::string>& qualifiers) {
  std::string regex;
  for (const std::string& qualifier : qualifiers) {
    regex.append(regex.empty() ? "" : "|").append(RegexOfGlob(qualifier));
  }
  RowFilter filter;
  *filter.mutable_chain()->add_filters() = OfFamilies({family});
  filter.mutable_chain()->add_filters()->set_column_qualifier_regex_filter(regex);
  return filter;
}

// A cell passes one of several branches at most: what comes twice would count twice.
std::optional<RowFilter> ColumnsFilter(const TableInfo& table, const ScanSpec& spec) {
  std::vector<std::string> whole;
  std::vector<RowFilter> branches;
  for (const StoredFamily& family : table.families) {
    if (!family.configured) continue;
    std::set<std::string> qualifiers;
    for (const ColumnPattern& pattern : spec.columns) {
      if (GlobMatches(pattern.family, family.name)) qualifiers.insert(pattern.qualifier);
    }
    if (spec.columns.empty() || qualifiers.contains("*")) {
      whole.push_back(family.name);
    } else if (!qualifiers.empty()) {
      branches.push_back(OfColumns(family.name, qualifiers));
    }
  }
  if (whole.size() == table.families.size()) return std::nullopt;
  if (!whole.empty()) branches.push_back(OfFamilies(whole));
  RowFilter filter;
  if (branches.empty()) {
    filter.set_block_all_filter(true);
  } else if (branches.size() == 1) {
    filter = std::move(branches.front());
  } else {
    for (RowFilter& branch : branches) {
      *filter.mutable_interleave()->add_filters() = std::move(branch);
    }
  }
  if (filter.ByteSizeLong() > kMaxFilterBytes) return std::nullopt;
  return filter;
}

// What the families' rules let Bigtable leave out.
struct Kept {
  uint32_t versions = std::numeric_limits<uint32_t>::max();  // The newest so many.
  TimeUs from = 0;  // Older ones have expired in every family.
  // Some family counts versions: what is newer than the scan's times counts, too.
  bool counts_newer = false;
};

Kept KeptBy(const TableInfo& table, const ScanSpec& spec) {
  Kept kept{0, kEndOfTimes, false};
  for (const StoredFamily& family : table.families) {
    if (!family.configured) continue;
    const GcRule rule = GcRule::Of(family, spec.now);
    kept.versions = std::max(kept.versions,
                             rule.both ? std::numeric_limits<uint32_t>::max() : rule.max_versions);
    kept.from = std::min(kept.from, rule.oldest_of_all());
    kept.counts_newer = kept.counts_newer || rule.counts_versions();
  }
  return kept;
}

void AddVersions(uint32_t versions, std::vector<RowFilter>* filters) {
  constexpr uint32_t kAll = std::numeric_limits<int32_t>::max();
  if (versions == 0 || versions >= kAll) return;
  filters->emplace_back().set_cells_per_column_limit_filter(static_cast<int32_t>(versions));
}

void AddTimes(TimeUs from, TimeUs to, int64_t grain_us, std::vector<RowFilter>* filters) {
  const TimeUs first = NextGrain(std::max<TimeUs>(from, 0), grain_us);
  if (first <= 0 && to >= kEndOfTimes) return;
  auto* const range = filters->emplace_back().mutable_timestamp_range_filter();
  range->set_start_timestamp_micros(first);
  // An end of 0 would be none: nobody asks before the first time.
  if (to < kEndOfTimes) range->set_end_timestamp_micros(NextGrain(to, grain_us));
}

}  // namespace

std::string RegexOfGlob(std::string_view glob) {
  std::string regex;
  for (const char c : glob) {
    if (c == '*') {
      regex += "\\C*";
    } else if (c == '?') {
      regex += "\\C";
    } else if (IsPlain(c)) {
      regex.push_back(c);
    } else if (c > ' ' && c < 0x7f) {
      regex.push_back('\\');
      regex.push_back(c);
    } else {
      regex += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return regex;
}

RowFilter KeysFilter() {
  RowFilter filter;
  filter.mutable_chain()->add_filters()->set_cells_per_row_limit_filter(1);
  filter.mutable_chain()->add_filters()->set_strip_value_transformer(true);
  return filter;
}

RowFilter NewestFilter() {
  RowFilter filter;
  filter.mutable_chain()->add_filters()->set_cells_per_column_limit_filter(1);
  filter.mutable_chain()->add_filters()->set_strip_value_transformer(true);
  return filter;
}

std::optional<RowFilter> FilterOf(const TableInfo& table, const ScanSpec& spec, int64_t grain_us) {
  std::vector<RowFilter> filters;
  if (spec.cells.is_empty()) {
    filters.emplace_back().set_block_all_filter(true);
  } else if (table.mode == TableMode::kLatestRow) {
    // Which event is the newest all columns tell, whatever is asked for.
    AddVersions(1, &filters);
  } else {
    if (std::optional<RowFilter> columns = ColumnsFilter(table, spec)) {
      filters.push_back(std::move(*columns));
    }
    const bool is_latest = table.mode == TableMode::kLatestCell;
    const Kept kept = KeptBy(table, spec);
    AddVersions(is_latest ? 1 : kept.versions, &filters);
    const bool bounds_end = is_latest || !kept.counts_newer;
    AddTimes(std::max(spec.cells.from, kept.from), bounds_end ? spec.cells.to : kEndOfTimes,
             grain_us, &filters);
    if (bounds_end && !is_latest) AddVersions(spec.versions, &filters);
  }
  if (filters.empty()) return std::nullopt;
  if (filters.size() == 1) return std::move(filters.front());
  RowFilter chain;
  for (RowFilter& filter : filters) *chain.mutable_chain()->add_filters() = std::move(filter);
  return chain;
}

}  // namespace tallyd
