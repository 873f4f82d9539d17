// RowClamp: which rows of a table are a scope's own: those whose key says, in every field of the
// scope, exactly its value. A key that the table's template cannot have made says nothing, and is
// nobody's who has a scope.
//
//   RowClamp clamp(table.row_key, {{"tenant", "acme"}}, stream.unit);
//   spec.ranges = clamp.Within(spec.ranges);    // Necessary: what lies outside is not looked at.
//   if (clamp.Admits(row.key)) ...              // Exact.
//
// Values are compared as text, by the bytes that stand in the key for them: "acme" is no prefix of
// "acme2", and 1 is neither 01 nor 1.0. Immutable; thread-safe.
#ifndef TALLYD_SERVICE_ACCESS_ROW_CLAMP_H_
#define TALLYD_SERVICE_ACCESS_ROW_CLAMP_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/schema/row_key_template.h"
#include "storage/scan.h"
#include "storage/store.h"

namespace tallyd {

// Of a principal: by field, the only value (service/principal.h).
using Scope = std::map<std::string, std::string>;

class RowClamp {
 public:
  // Whether the key gives back every field of the scope, so that there is a clamp of its table.
  // {labels} gives back any: of an event of which the field is no label the row is nobody's.
  static bool IsHeldBy(const RowKeyTemplate& row_key, const Scope& scope);

  RowClamp() = default;  // Of no row.
  // REQUIRES: IsHeldBy(row_key, scope).
  RowClamp(const RowKeyTemplate& row_key, const Scope& scope, TimeUnit unit);

  bool Admits(std::string_view key) const;
  // Whether the range is that of one stem (RowKeyTemplate::StemSize), or of one key, and all of it
  // is its own.
  bool OwnsStem(const KeyRange& range) const;
  // What of these ranges, in key order and disjoint, may hold rows of its own.
  std::vector<KeyRange> Within(const std::vector<KeyRange>& ranges) const;
  // Leaves of what a query knows the scope's values alone; of a field that it wants to have another
  // one, none.
  void Narrow(KnownFields* known) const;
  // No key of the table can say the scope's values: zero(n) writes 007 as 7, which is another's.
  bool is_empty() const { return is_empty_; }
  // Whether nothing but the scope's values stands in keys before and between them, so that what
  // Within leaves holds its own rows alone, and such as no event can have.
  bool leads() const { return leads_; }
  // Whether all keys of the range that an event can have are its own.
  bool Owns(const KeyRange& rows) const;
  // kForbidden, for whoever wants to change a row that is not.
  Error Outside() const;
  const Scope& scope() const { return scope_; }

 private:
  struct Expected {
    size_t segment = 0;
    std::string raw;    // As it stands in keys.
    std::string label;  // Of {labels}: which one.
  };

  void ExpectLabels(size_t segment);
  bool LabelsTell(size_t segment, std::string_view raw) const;
  bool Expect(size_t segment, const std::string& value, TimeUnit unit);
  bool StemTells(std::string_view stem) const;
  bool ReadsBack(size_t segment, const std::string& raw, const std::string& value) const;

  RowKeyTemplate row_key_;
  Scope scope_;
  std::vector<Expected> expected_;  // By segment, those of {labels} by name.
  std::vector<KeyRange> ranges_;    // That hold all rows of its own.
  bool is_empty_ = true;
  bool leads_ = false;
};

// A scan that gives the clamp's rows alone, as if there were no others; null: every row.
std::unique_ptr<RowScan> ScanRows(Store& store, const TablePtr& table, ScanSpec spec,
                                  const RowClamp* clamp);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_ROW_CLAMP_H_
