#include "api/query/completeness.h"

#include <algorithm>

#include "config/table_rules.h"

namespace tallyd {
namespace {

bool IsAsked(const EventQuery& query, const std::vector<std::string>& asked,
             std::string_view field) {
  return std::find(asked.begin(), asked.end(), field) != asked.end() ||
         std::any_of(query.filters.begin(), query.filters.end(),
                     [&](const FieldFilter& filter) { return filter.field == field; });
}

// Whether the family can hold what the query asks for. Without a measured field, every family
// tells of events.
bool Matters(const EventQuery& query, const Table& table, const std::vector<std::string>& asked,
             const std::string& family) {
  bool any_measured = false;
  for (const ColumnRule& rule : table.columns) {
    const auto takes = [&](std::string_view field) {
      return GivenBack(table, rule, field) != Fidelity::kNone;
    };
    const bool takes_asked =
        std::any_of(asked.begin(), asked.end(), takes) ||
        std::any_of(query.filters.begin(), query.filters.end(),
                    [&](const FieldFilter& filter) { return takes(filter.field); });
    if (takes_asked && rule.family == family) return true;
    any_measured = any_measured || takes_asked;
  }
  return asked.empty() || !any_measured;
}

// What GC may have taken of the query's range.
std::string MissingByGc(const EventQuery& query, const Table& table, const Family& family) {
  const bool may_age = family.max_age_us && query.time.from < query.now - *family.max_age_us;
  const bool may_overflow = family.max_versions && !table.row_key.has_full_time();
  const std::string age =
      family.max_age_us ? "cells older than " + FormatDuration(*family.max_age_us) : "";
  const std::string versions = family.max_versions
                                   ? "all but the newest " + std::to_string(*family.max_versions) +
                                         " cells of a column and row"
                                   : "";
  const std::string where = "family " + family.name + " of " + table.name + " forgets ";
  if (family.expire_by_both && family.max_age_us && family.max_versions) {
    return may_age && may_overflow ? where + age + " beyond " + versions.substr(8) : "";
  }
  if (may_age) return where + age;
  return may_overflow ? where + versions : "";
}

}  // namespace

std::string WhatIsMissing(const EventQuery& query, const Table& table,
                          const std::vector<std::string>& asked) {
  for (const Family& family : table.families) {
    if (!Matters(query, table, asked, family.name)) continue;
    std::string missing = MissingByGc(query, table, family);
    if (!missing.empty()) return missing;
  }
  for (const std::string& field : table.when) {
    if (!IsAsked(query, asked, field)) {
      return table.name + " takes only events that have " + field;
    }
  }
  if (table.time_field != query.stream->time_field) {
    return table.name + " goes by the time in " + table.time_field + ", not in " +
           query.stream->time_field;
  }
  return "";
}

}  // namespace tallyd
