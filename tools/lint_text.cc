#include "tools/lint_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/console.h"

namespace tallyd {
namespace {

using Json = nlohmann::ordered_json;

std::string Counted(std::span<const LintFinding> findings, Severity severity, const char* one) {
  const auto count = std::ranges::count(findings, severity, &LintFinding::severity);
  if (count == 0) return {};
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// A number as short as it can be: whole ones without decimals.
std::string NumberText(double number) {
  if (std::abs(number - std::round(number)) < 1e-9) return fmt::format("{:.0f}", number);
  return fmt::format("{:.2f}", number);
}

std::string BytesText(const std::optional<double>& bytes) {
  return bytes ? FormatBytes(static_cast<uint64_t>(std::min(*bytes, 1e18))) : "-";
}

Json NumberJson(const std::optional<double>& number) {
  constexpr double kMostExact = 9e15;
  if (!number) return nullptr;
  if (*number <= kMostExact && *number == std::round(*number)) {
    return static_cast<int64_t>(*number);
  }
  return *number;
}

}  // namespace

std::string CountsText(std::span<const LintFinding> findings) {
  std::string text;
  for (const std::string& part :
       {Counted(findings, Severity::kError, "error"), Counted(findings, Severity::kWarn, "warning"),
        Counted(findings, Severity::kInfo, "hint")}) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text.empty() ? "nothing found" : text;
}

std::string LintText(std::span<const LintFinding> findings) {
  std::string text = CountsText(findings) + "\n";
  if (findings.empty()) return text;
  std::vector<std::vector<std::string>> rows{{"rule", "severity", "table", "finding"}};
  std::map<RulePlace, std::string> cures;
  for (const LintFinding& finding : findings) {
    rows.push_back({finding.rule, std::string(ToString(finding.severity)),
                    finding.table.empty() ? "-" : finding.table, Printable(finding.detail)});
    cures[PlaceOfRule(finding.rule)] = finding.cure;
  }
  std::vector<std::vector<std::string>> cure_rows{{"rule", "cure"}};
  for (const auto& [place, cure] : cures) cure_rows.push_back({std::get<2>(place), cure});
  return text + "\n" + TextTable(rows) + "\n" + TextTable(cure_rows);
}

std::string EstimateText(std::span<const TableEstimate> estimates) {
  std::vector<std::vector<std::string>> rows{{"table", "pattern", "rows/s", "cells/s",
                                              "new rows/day", "columns/row", "cells/row",
                                              "bytes/row", "bytes/day"}};
  for (const TableEstimate& table : estimates) {
    std::string columns = NumberText(table.columns_per_row);
    if (table.fixed_columns_per_row > 0) columns += "+" + NumberText(table.fixed_columns_per_row);
    rows.push_back({table.table, table.pattern, NumberText(table.rows_per_s),
                    NumberText(table.cells_per_s), NumberText(table.rows_per_day), columns,
                    table.cells_per_row ? NumberText(*table.cells_per_row) : "-",
                    BytesText(table.bytes_per_row), BytesText(table.bytes_per_day)});
  }
  return TextTable(rows);
}

Json EstimateJson(std::span<const TableEstimate> estimates) {
  Json tables = Json::array();
  for (const TableEstimate& table : estimates) {
    tables.push_back({{"table", table.table},
                      {"stream", table.stream},
                      {"pattern", table.pattern},
                      {"every", FormatDuration(table.every_us)},
                      {"rows_per_s", NumberJson(table.rows_per_s)},
                      {"cells_per_s", NumberJson(table.cells_per_s)},
                      {"rows_per_day", NumberJson(table.rows_per_day)},
                      {"columns_per_row", NumberJson(table.columns_per_row)},
                      {"fixed_columns_per_row", NumberJson(table.fixed_columns_per_row)},
                      {"cells_per_column", NumberJson(table.cells_per_column)},
                      {"cells_per_row", NumberJson(table.cells_per_row)},
                      {"bytes_per_row", NumberJson(table.bytes_per_row)},
                      {"bytes_per_day", NumberJson(table.bytes_per_day)}});
  }
  return {{"tables", std::move(tables)}};
}

}  // namespace tallyd
