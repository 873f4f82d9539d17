// Batch: the changes of one request, to be committed as a whole or not at all. Made by
// Store::NewBatch, filled on one thread, given to Store::Submit. Everything passed in is copied
// (encoded) at once: no view needs to outlive the call. Two implementations: an engine's own, which
// encodes straight into its format, and PreviewBatch (dry runs).
#ifndef TALLYD_STORAGE_BATCH_H_
#define TALLYD_STORAGE_BATCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/column_set.h"
#include "storage/table_info.h"

namespace tallyd {

// Bigtable's hard limits.
inline constexpr size_t kMaxRowKeyBytes = 4096;
inline constexpr size_t kMaxQualifierBytes = 16'384;
inline constexpr size_t kMaxValueBytes = 104'857'600;

// What to forget: every cell committed before this in the rows of `rows`, narrowed to a family, a
// column, a range of cell times where given. What is written later is stored, however old its time.
//
// No scan that begins after the batch was answered returns what it forgets. The bytes may leave the
// disk later. A store that cannot hide a range as a whole may take long to answer a delete of many
// rows, and scans that begin meanwhile may miss some of them.
struct DeleteSpec {
  KeyRange rows;
  std::optional<FamilyId> family;
  std::optional<std::string> qualifier;  // Only with family.
  TimeRange cells;
};

class Batch {
 public:
  virtual ~Batch() = default;

  // The cells that one event writes to one row; all carry the event's time. `values` are in the
  // order of `set`'s columns; a null value is an absent cell. REQUIRES: key, qualifiers, values
  // within the limits above; at least one value.
  virtual void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                   const ColumnSet& set, std::span<const Value> values) = 0;
  // The same with columns that do not recur: in any order, no column twice.
  virtual void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                   std::span<const ColumnRef> columns, std::span<const Value> values) = 0;

  virtual void Delete(const TableInfo& table, const DeleteSpec& what) = 0;

  // Remembers that the stream has this field with these types (FieldInfo::type_bits). Idempotent.
  virtual void AddField(std::string_view stream, std::string_view field, uint8_t type_bits) = 0;
  // Remembers that of all spellings of this field's compact name the stream saw this one last, as
  // of this batch.
  virtual void NoteSpelling(std::string_view stream, std::string_view field) = 0;

  // Remembers that the table missed the field (MissedField::how) in an event of this batch.
  virtual void AddMissed(const TableInfo& table, std::string_view field, uint8_t how) = 0;

  virtual bool empty() const = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BATCH_H_
