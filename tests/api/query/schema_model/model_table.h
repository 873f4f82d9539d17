// Tables of random schemas: what the file says of one, and, said again in few words, what the
// contract makes of an event in it: whether it enters, which fields the table keeps of it, and how
// truly. Nothing here asks the product.
//
// The stream is `s`. Each of its events has `host`, `id` and `ts`, some have `qt`, and each has
// some of the measured fields. The fields that one compact name stands for are three: `Bid size`,
// `BIDSIZE` and `bid size`.
#ifndef TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_MODEL_TABLE_H_
#define TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_MODEL_TABLE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/api/query/schema_model/chance.h"

namespace tallyd {

inline const std::vector<std::string> kMeasured = {"n", "x", "s", "ok", "m"};
inline const std::vector<std::string> kSpelled = {"Bid size", "BIDSIZE", "bid size"};
inline constexpr std::string_view kCompact = "BIDSIZE";
inline bool IsSpelled(std::string_view field) {
  return std::find(kSpelled.begin(), kSpelled.end(), field) != kSpelled.end();
}

// One column rule; each of a table's has a family of its own, so that no two fall on one column.
struct ModelRule {
  std::string text;              // Beside the family, as the file writes it.
  std::set<std::string> fields;  // It takes these; empty: all that key and time do not use.
  std::set<std::string>
      needs;         // Instead: it runs once per event that has them all, and keeps them.
  std::string with;  // A field that it keeps beside each.
  bool typed = true;
  bool compact = false;
  bool one_cell = false;  // What it keeps of an event is replaced as one.
};

struct TableModel {
  std::string name;
  std::string pattern;
  std::string row_key;
  std::string time = "ts";
  std::string when;
  std::vector<std::string> key_fields;
  bool full_time = false;  // Its key tells the time.
  bool field_in_key = false;
  bool keep_row = false;
  std::map<std::string, ModelRule> rules;  // By family.
  std::optional<int64_t> max_age_ms;
  std::optional<int> max_versions;

  bool is_latest() const { return pattern == "latest"; }
  bool forgets() const { return max_age_ms || (max_versions && !full_time); }
  bool IsKey(std::string_view field) const;
  bool compacts() const;
  // Whether the table keeps the field of some events, and gives it back in its own type.
  bool Holds(const std::string& field) const;
  bool HoldsTyped(const std::string& field) const;
  // Whether events that differ in `id` alone may share a cell, where others tell them apart; and
  // whether a column of its own then tells.
  bool MayMergeIds() const;
  bool TellsIds() const;
  // The measured fields that it keeps of the event; nothing if the event does not enter.
  std::set<std::string> Kept(const nlohmann::json& event) const;

  std::string Toml() const;
};

// A new table; and the table with something changed that may change while it has data.
TableModel RandomTable(const std::string& name, Chance* chance);
TableModel Changed(TableModel table, Chance* chance);
// It takes everything, by the stream's time, for ever.
TableModel TableOfAll();

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_MODEL_TABLE_H_
