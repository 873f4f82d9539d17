// The columns that a table's rules name outright: by a constant name, by `rename`, or for a field
// that `fields` lists. Each belongs to one field of one rule; whatever else fell on it would take
// its place, and come back under its name.
//
//   const ColumnClaims claims(table);
//   claims.clash();                  // Two claim one column: a mistake of the configuration.
//   claims.Find("MD", "BIDSIZE");    // Whose column it is; null: anybody's.
//
// Views the table. Immutable, so any thread may ask.
#ifndef TALLYD_CONFIG_SCHEMA_COLUMN_CLAIMS_H_
#define TALLYD_CONFIG_SCHEMA_COLUMN_CLAIMS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/schema/schema.h"

namespace tallyd {

// Who writes a column: a rule, by its place in Table::columns, for one field of the event or, where
// `field` is empty, for whatever the rule takes.
struct ColumnWriter {
  size_t rule = 0;
  std::string_view field;
  friend bool operator==(const ColumnWriter&, const ColumnWriter&) = default;
};

// "both field "Bid" and field "BID"", "both columns[0] and columns[2]": for messages.
std::string BothOf(const ColumnWriter& a, const ColumnWriter& b);

class ColumnClaims {
 public:
  explicit ColumnClaims(const Table& table);

  // Why the rules cannot stand beside each other: what two of them, or two fields of one, write.
  const std::optional<std::string>& clash() const { return clash_; }

  const ColumnWriter* Find(std::string_view family, std::string_view qualifier) const;
  // Whether the writer may write the column: it is its own, or nobody's.
  bool Allows(std::string_view family, std::string_view qualifier, const ColumnWriter& by) const;

  using Columns = std::map<std::string, ColumnWriter, std::less<>>;  // By qualifier.
  const Columns& ColumnsOf(std::string_view family) const;

 private:
  void ClaimAll(size_t rule);
  void Claim(std::string qualifier, const ColumnWriter& writer);
  bool MayMeet(const ColumnWriter& a, const ColumnWriter& b) const;
  void Compare(size_t a, size_t b);
  void Clash(const ColumnWriter& a, const ColumnWriter& b, std::string_view family,
             std::string_view qualifier);

  const Table& table_;
  std::map<std::string, Columns, std::less<>> families_;
  std::optional<std::string> clash_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_COLUMN_CLAIMS_H_
