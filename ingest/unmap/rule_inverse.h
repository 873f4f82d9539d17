// From a column back to the fields of an event: the column rules of a table, read backwards.
#ifndef TALLYD_INGEST_UNMAP_RULE_INVERSE_H_
#define TALLYD_INGEST_UNMAP_RULE_INVERSE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// What the cells of a column say. Views the qualifier it was read from.
struct ColumnMeaning {
  // Which field the cells of a per-field rule hold the value of.
  enum class Measured : uint8_t {
    kNone,
    kFixed,      // `field`
    kFromKey,    // The row key names it.
    kFromValue,  // The cell names it.
  };
  const ColumnRule* rule = nullptr;  // Null: no rule makes such columns.
  Measured measured = Measured::kNone;
  std::string field;
  bool value_in_name = false;  // The measured field's value is name_value.
  Value name_value;
  std::vector<std::pair<std::string_view, Value>> named;  // Other fields that the qualifier tells.
};

class RuleInverse {
 public:
  // All three outlive it. `stream_fields`, the spelling seen last at the end, undoes compact names.
  RuleInverse(const Table& table, const TableInfo& stored,
              const std::vector<std::string>& stream_fields)
      : table_(table), stored_(stored), stream_fields_(stream_fields) {}

  // Rules whose name is constant come first, then the order of rules decides.
  ColumnMeaning Read(const ColumnRef& column) const;

 private:
  bool IsRenamedAway(const ColumnRule& rule, std::string_view qualifier) const;
  bool Try(const ColumnRule& rule, std::string_view qualifier, ColumnMeaning* meaning) const;
  bool TryPerField(const ColumnRule& rule, const std::vector<KeyField>& parts,
                   ColumnMeaning* meaning) const;
  std::string UndoCompact(const ColumnRule& rule, std::string_view text) const;

  const Table& table_;
  const TableInfo& stored_;
  const std::vector<std::string>& stream_fields_;
};

// The columns that can hold fields matched by one of `globs`.
std::vector<ColumnPattern> PatternsOf(const Table& table,
                                      const std::vector<std::string>& stream_fields,
                                      const std::vector<std::string>& globs);

}  // namespace tallyd

#endif  // TALLYD_INGEST_UNMAP_RULE_INVERSE_H_
