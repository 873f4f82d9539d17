// rows -> events: the inverse of the mapper. Key fields are decoded, qualifiers and values matched
// against the table's rules, blobs opened, renames undone; each part of a row (cells of one time)
// gives one or more fragments of events.
//
// A table whose key names {field} keeps one event in several rows: their fragments have the same
// time and entity, and the caller merges them. Fragments of one part that contradict each other
// (two values of one field) are separate events. In a latest table, whose row is one event,
// columns that are named for values are events of their own beside it.
//
// Not thread-safe: one per scan.
#ifndef TALLYD_INGEST_UNMAP_ROW_READER_H_
#define TALLYD_INGEST_UNMAP_ROW_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/schema/schema.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Names <-> small numbers, for one query.
class FieldTable {
 public:
  uint32_t Add(std::string_view name);    // Its number, new or known.
  int Find(std::string_view name) const;  // -1 if unknown.
  const std::string& name(uint32_t id) const { return names_[id]; }
  size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
};

struct EventField {
  uint32_t field = 0;  // In the FieldTable.
  Value value;
};

// Whether two values of one field cannot be of one event. A number that was read from a text may
// have been a text: what is spelt alike says the same, whatever its type.
bool SaysOtherwise(const Value& a, const Value& b);

// Of an event's fields these: `count` from `first` on.
struct LabelSpan {
  size_t first = 0;
  size_t count = 0;
  bool Has(size_t field) const { return field - first < count; }
};

// Views are valid until the reader reads the next row.
struct EventFragment {
  TimeUs time = 0;
  std::string_view row_key;
  std::string_view entity;  // The key fields but time, salts and {field}: equal iff they are equal.
  std::vector<EventField> fields;  // Key fields first; distinct.
  LabelSpan labels = {};           // Those of them that the key has in {labels}.
  // Of a latest table whose rule names columns for values: the fragment is an event of its own, as
  // that column tells it. None: it tells of the row.
  std::optional<ColumnRef> column = std::nullopt;
};

class RowReader {
 public:
  // `stream_fields` (of the store's catalogue, the spelling seen last at the end) undoes compact
  // names. `fields` gets every field met.
  RowReader(const Table& table, TablePtr stored, const std::vector<std::string>& stream_fields,
            FieldTable* fields);
  ~RowReader();

  // Only fields matched by these globs come back, and key fields, labels among them, always. Empty:
  // all. `wants_labels`: one of the globs is of labels that keys may hold, so that an event that
  // has nothing else comes back, too.
  void SelectFields(const std::vector<std::string>& globs, bool wants_labels = false);

  // The columns that can hold the selected fields: for ScanSpec::columns (empty: all).
  std::vector<ColumnPattern> Columns() const;

  // The same for those who want no events that tell nothing but their key.
  std::vector<ColumnPattern> MeasuredColumns() const;

  // Starts a row. False: the template cannot have made this key (the row is left out of event reads
  // and counted).
  bool BeginRow(const Row& row);
  // The events of one part of that row, appended to *out (whose elements are reused; *count tells
  // how many are valid).
  void ReadPart(const Row& row, const RowPart& part, std::vector<EventFragment>* out,
                size_t* count);

  // For runs (storage/scan.h). Whether every key of the run tells the same fields, which
  // key_fields() then are; where not, or where the template cannot have made the keys, rows tell.
  bool BeginRun(const ColumnRun& run);
  const std::vector<EventField>& key_fields() const;
  // The field whose value the cells of a column hold. kNoField: none that is selected. kNotPlain:
  // more than that, which takes ReadPart.
  static constexpr int32_t kNoField = -1;
  static constexpr int32_t kNotPlain = -2;
  int32_t FieldOf(const ColumnRef& column);

  uint64_t unreadable_rows() const { return unreadable_rows_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  uint64_t unreadable_rows_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_UNMAP_ROW_READER_H_
