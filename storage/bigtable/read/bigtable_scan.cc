#include "storage/bigtable/read/bigtable_scan.h"

#include <algorithm>
#include <utility>

#include "config/values/glob.h"
#include "storage/bigtable/read/row_filter.h"

namespace tallyd {
namespace {

// So many rows before the one that is skipped to are read rather than asked for anew.
constexpr uint64_t kRowsPassedOver = 100;
// What is turned round is all in memory.
constexpr size_t kMaxTurnedBytes = 64u << 20;

RowsQuery QueryOf(BigtableClient* client, const ServiceTraits& traits, const TableInfo& table,
                  const ScanSpec& spec) {
  RowsQuery query;
  query.table = client->TableName(NameBehind(table.name));
  query.ranges = spec.ranges;
  query.filter = FilterOf(table, spec, traits.grain_us);
  query.reverse = spec.reverse && traits.reverses;
  query.expected = spec.reverse && !traits.reverses ? 0 : spec.limit;
  query.limits = spec.limits;
  return query;
}

std::vector<GcRule> RulesOf(const TableInfo& table, TimeUs now) {
  std::vector<GcRule> rules;
  for (const StoredFamily& family : table.families) rules.push_back(GcRule::Of(family, now));
  return rules;
}

}  // namespace

BigtableScan::BigtableScan(BigtableClient* client, const ServiceTraits& traits, TablePtr table,
                           const ScanSpec& spec, std::shared_ptr<TableSample> sample)
    : table_(std::move(table)),
      spec_(spec),
      sample_(std::move(sample)),
      turns_(spec.reverse && !traits.reverses),
      codec_(*table_),
      rules_(RulesOf(*table_, spec.now)),
      stream_(client, QueryOf(client, traits, *table_, spec)),
      merge_(table_->mode == TableMode::kHistory ? CellMerge::Versions::kAll
                                                 : CellMerge::Versions::kNewest) {}

Result<bool> BigtableScan::Next() {
  if (spec_.limit > 0 && returned_ == spec_.limit) return false;
  const Result<bool> more = turns_ ? ReadTurned() : NextLive();
  if (!more || !*more) return more;
  ++returned_;
  Show(turns_ ? std::string_view(shown_.key) : std::string_view(stream_.row().key));
  return true;
}

// To the next row of the stream that has a cell to give, which are cells_ then.
Result<bool> BigtableScan::NextLive() {
  while (true) {
    Result<bool> more = stream_.Next();
    if (!more && more.error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kUnavailable, "table " + table_->name + " was dropped meanwhile");
    }
    if (!more || !*more) return more;
    const std::string& key = stream_.row().key;
    const bool is_before =
        !skip_to_.empty() && (spec_.reverse && !turns_ ? key > skip_to_ : key < skip_to_);
    if (is_before && !turns_) {
      if (++passed_over_ == kRowsPassedOver) stream_.SkipTo(skip_to_);
      continue;
    }
    TakeCells(stream_.row());
    if (cells_.empty()) continue;
    if (sample_ != nullptr && sample_->Wants(key)) TellSample(stream_.row());
    return true;
  }
}

Result<bool> BigtableScan::ReadTurned() {
  size_t bytes = 0;
  while (!has_turned_) {
    const Result<bool> more = NextLive();
    if (!more) return more;
    if (!*more) break;
    TurnedRow& row = turned_.emplace_back();
    row.key = stream_.row().key;
    row.arena = std::make_unique<Arena>();
    bytes += row.key.size();
    for (const Live& cell : cells_) {
      row.cells.push_back({cell.time,
                           {cell.column.family, row.arena->Copy(cell.column.qualifier)},
                           row.arena->Copy(cell.text)});
      bytes += sizeof(Live) + cell.text.size() + cell.column.qualifier.size();
    }
    if (bytes > kMaxTurnedBytes) {
      return Error(ErrorCode::kUnprocessable,
                   "this service takes no reverse scans, and the range is too large to be turned "
                   "round in memory: ask for less of it");
    }
  }
  has_turned_ = true;
  while (!turned_.empty() && !skip_to_.empty() && turned_.back().key > skip_to_) {
    turned_.pop_back();
  }
  if (turned_.empty()) return false;
  shown_ = std::move(turned_.back());
  turned_.pop_back();
  cells_ = shown_.cells;
  return true;
}

void BigtableScan::SkipTo(std::string_view key) {
  skip_to_ = key;
  passed_over_ = 0;
}

bool BigtableScan::IsWanted(const ColumnRef& column) const {
  return spec_.columns.empty() ||
         std::ranges::any_of(spec_.columns, [&](const ColumnPattern& pattern) {
           return GlobMatches(pattern.family, table_->families[column.family].name) &&
                  GlobMatches(pattern.qualifier, column.qualifier);
         });
}

// Cells of a column come together, the newest first: so a column's number is its place in the row.
void BigtableScan::TakeCells(const WireRow& row) {
  cells_.clear();
  merge_.BeginRow();
  TimeUs newest = -1;  // Of all that is there, given or not.
  for (const WireCell& cell : row.cells) newest = std::max(newest, cell.time);
  std::optional<FamilyId> family;
  const WireCell* before = nullptr;
  uint32_t number = 0;
  uint32_t given = 0;
  bool is_wanted = false;
  for (const WireCell& cell : row.cells) {
    const bool is_same_family = before != nullptr && before->family == cell.family;
    const bool is_same = is_same_family && before->qualifier == cell.qualifier;
    if (!is_same_family) family = table_->FindFamily(cell.family);
    if (!is_same) {
      number += before != nullptr ? 1 : 0;
      given = 0;
      is_wanted = family && rules_[*family].visible && IsWanted({*family, cell.qualifier});
    }
    before = &cell;
    if (!is_wanted) continue;
    const bool is_of_newest = table_->mode != TableMode::kLatestRow || cell.time == newest;
    const bool is_live = merge_.Take(number, cell.time, rules_[*family]) == CellMerge::Fate::kLive;
    if (!is_live || !is_of_newest || !spec_.cells.Contains(cell.time)) continue;
    if (spec_.versions > 0 && given == spec_.versions) continue;
    ++given;
    cells_.push_back({cell.time, {*family, cell.qualifier}, cell.value});
  }
  std::ranges::sort(cells_, [&](const Live& a, const Live& b) {
    if (a.time != b.time) return a.time > b.time;
    if (a.column.family == b.column.family) return a.column.qualifier < b.column.qualifier;
    return table_->family_rank[a.column.family] < table_->family_rank[b.column.family];
  });
  if (!spec_.keys_only || cells_.empty()) return;
  const TimeUs first = cells_.front().time;
  std::erase_if(cells_, [&](const Live& cell) { return cell.time < first; });
}

void BigtableScan::TellSample(const WireRow& row) {
  SeenRow seen{cells_.back().time, cells_.front().time, 1, 0};
  for (size_t i = 1; i < cells_.size(); ++i) {
    if (cells_[i].time != cells_[i - 1].time) ++seen.entries;
  }
  for (const WireCell& cell : row.cells) {
    seen.bytes += cell.qualifier.size() + sizeof(cell.time) + cell.value.size();
  }
  sample_->Take(row.key, seen, false);
}

void BigtableScan::Show(std::string_view key) {
  arena_.Reset();
  row_.key = key;
  row_.parts.clear();
  row_.cells.clear();
  for (const Live& cell : cells_) {
    const auto at = static_cast<uint32_t>(row_.cells.size());
    if (row_.parts.empty() || row_.parts.back().time != cell.time) {
      row_.parts.push_back({cell.time, at, at, nullptr});
    }
    row_.cells.push_back({cell.column, 0, codec_.Read(cell.column, cell.text, &arena_)});
    row_.parts.back().end = at + 1;
  }
}

}  // namespace tallyd
