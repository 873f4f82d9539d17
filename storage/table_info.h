// What the store knows of a table: its stable number, how its rows merge, its families and what
// they keep. Numbers are given once and never again, so that stored bytes keep their meaning when
// the configuration changes. Immutable; shared by std::shared_ptr<const TableInfo>. A reload that
// changes GC settings or adds families makes another.
#ifndef TALLYD_STORAGE_TABLE_INFO_H_
#define TALLYD_STORAGE_TABLE_INFO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace tallyd {

using TableId = uint32_t;
using FamilyId = uint16_t;  // An index into TableInfo::families.

// DO NOT CHANGE THESE VALUES: they are stored.
enum class TableMode : uint8_t {
  kHistory = 0,     // Every cell is kept until GC.
  kLatestCell = 1,  // The newest cell of every column.
  kLatestRow = 2,   // The cells of the newest event.
};

struct StoredFamily {
  std::string name;
  bool configured = false;  // False: no longer in the file; its cells are kept and not shown.
  Family rules;             // Of configured families.
};

struct TableInfo {
  TableId id = 0;
  std::string name;
  std::string stream;
  std::string pattern;  // As the file spells it.
  std::string row_key;  // The template's text.
  TableMode mode = TableMode::kHistory;
  bool orphaned = false;               // No longer in the file.
  std::vector<StoredFamily> families;  // By FamilyId.
  std::vector<uint16_t> family_rank;   // By FamilyId: its place in name order.

  std::optional<FamilyId> FindFamily(std::string_view family) const {
    for (size_t i = 0; i < families.size(); ++i) {
      if (families[i].name == family) return static_cast<FamilyId>(i);
    }
    return std::nullopt;
  }
};

using TablePtr = std::shared_ptr<const TableInfo>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_TABLE_INFO_H_
