// TableCatalogue: the part of a store's contract that is about what it knows beside rows: tables,
// the fields that streams have, and memos. Tables and fields are known here: to ask for them takes
// no time and cannot fail. What changes them, and memos, may reach an engine elsewhere, and may
// fail.
#ifndef TALLYD_STORAGE_TABLE_CATALOGUE_H_
#define TALLYD_STORAGE_TABLE_CATALOGUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/value.h"
#include "storage/table_info.h"

namespace tallyd {

// What is remembered of the values that a field ever had: a bit for each type, and one for strings
// that would read back as numbers where only their text is kept (ValueFromText).
constexpr uint8_t TypeBit(ValueType type) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(type));
}
inline constexpr uint8_t kNumberTextBit = 1u << 6;
// It was a label of an event, which is text. An event that has it as an ordinary text sets the bit
// of strings instead, so that a field without that one, nor that of another type, only ever was a
// label.
inline constexpr uint8_t kLabelBit = 1u << 7;

struct FieldInfo {
  std::string name;
  uint8_t type_bits = 0;  // TypeBit, kNumberTextBit, kLabelBit
  // Of the spellings of one compact name the greatest is the one that the stream saw last; 0 where
  // nobody told (Batch::NoteSpelling).
  uint64_t spelled = 0;
};

// A field of which a table did not keep all that came, although its rules take it: events that had
// it stayed outside (`when`, or nothing else to store), or entered and left it behind (a template
// that needs another field, too).
inline constexpr uint8_t kMissedOutside = 1;
inline constexpr uint8_t kMissedInside = 2;
struct MissedField {
  std::string name;       // Empty, of a table that missed too many to remember: any.
  uint8_t how = 0;        // Of the two bits above.
  uint64_t sequence = 0;  // About when that happened last: no commit before it counts.
};

using Memo = std::pair<std::string, std::string>;  // Its key and its value.

// Whether a table that shows no row may be made anew: false where something of it that was
// acknowledged waits in memory to become a row. True: nothing does, and nothing will.
using MayDropTable = std::function<bool(const TableInfo& table)>;

class TableCatalogue {
 public:
  virtual ~TableCatalogue() = default;

  // Makes the schema's streams, tables and families known, or refuses (kConflict, naming both) when
  // it contradicts what is stored: a stream's unit, a table's stream, pattern, row key or keep.
  // Whole or not at all; durable on return.
  virtual Status Adopt(const Schema& schema) = 0;

  // Null if unknown. Orphaned ones, too.
  virtual TablePtr FindTable(std::string_view name) const = 0;
  virtual std::vector<TablePtr> Tables() const = 0;  // By name.
  // Forgets an orphaned table and all of its rows. kConflict if it is configured.
  virtual Status DropTable(std::string_view name) = 0;

  virtual std::vector<FieldInfo> Fields(std::string_view stream) const = 0;         // By name.
  virtual std::vector<MissedField> MissedFields(const TableInfo& table) const = 0;  // By name.
  // Before somebody is told that a stream never had such a field: whether what others have noted by
  // now was asked for, and is among Fields. False where nobody else notes anything, or nobody
  // answers. May block for some seconds.
  virtual bool AskForFields() { return false; }

  // Memos (Batch::PutMemo), as of all commits that were answered before the call. Both may block.
  virtual Result<std::optional<std::string>> FindMemo(std::string_view key) = 0;
  // Those whose keys begin with `prefix` and come after `after`, in key order, at most `limit`. All
  // of them are in memory at once.
  virtual Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                          std::string_view after = {}) = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_TABLE_CATALOGUE_H_
