// The columns of a table, as one query reads them: what each means, with numbers for the names of
// fields, and whether it was asked for. Remembered per column set, so that a value costs an array
// read. Not thread-safe.
#ifndef TALLYD_INGEST_UNMAP_COLUMN_READER_H_
#define TALLYD_INGEST_UNMAP_COLUMN_READER_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/unmap/row_reader.h"
#include "ingest/unmap/rule_inverse.h"

namespace tallyd {

struct ReadColumn {
  // What the cell's value is.
  enum class As : uint8_t {
    kNothing,   // Constant: it only tells that there was an event.
    kMeasured,  // The measured field's value.
    kField,     // `whole_field`
    kTemplate,  // A text that the rule's value template takes apart.
    kBlob,
  };
  std::string qualifier;  // Owned where nothing else owns it as long.
  const ColumnRule* rule = nullptr;
  As as = As::kNothing;
  uint32_t whole_field = 0;
  bool whole_selected = false;
  ColumnMeaning::Measured measured = ColumnMeaning::Measured::kNone;
  uint32_t measured_field = 0;  // kFixed.
  bool measured_selected = false;
  bool is_event = false;       // Each cell is an event of its own (EventFragment::column).
  bool value_in_name = false;  // The measured field's value is name_value.
  Value name_value;
  std::vector<EventField> named;  // Other fields that the qualifier tells; selected ones.
};

struct ReadSet {
  static constexpr int32_t kSkip = -1;     // No rule made it, or nothing that it holds is selected.
  static constexpr int32_t kGeneral = -2;  // See columns.
  std::vector<int32_t> direct;             // Per column: the field whose value its cells hold.
  std::vector<ReadColumn> columns;
  bool is_plain = false;  // Every column is one field's, or skipped; no field is in two.
};

class ColumnReader {
 public:
  ColumnReader(const Table& table, TablePtr stored, std::vector<std::string> stream_fields,
               FieldTable* fields);

  // Forgets what was read before.
  void Select(const std::vector<std::string>& globs);
  bool Selected(std::string_view field) const;
  const std::vector<std::string>& globs() const { return globs_; }
  const std::vector<std::string>& stream_fields() const { return stream_fields_; }

  const ReadSet& Find(const ColumnSet& set);
  // What is known of a column in no set. `scratch` holds the answer if the column is not
  // remembered; the answer then views the column's qualifier.
  const ReadColumn& Find(const ColumnRef& column, ReadColumn* scratch);
  // What ReadSet::direct holds, of one column.
  static int32_t Direct(const ReadColumn& column);

 private:
  void Compile(const ColumnRef& column, ReadColumn* read) const;

  const Table& table_;
  const TablePtr stored_;
  const std::vector<std::string> stream_fields_;
  FieldTable* const fields_;
  const RuleInverse inverse_;
  std::vector<std::string> globs_;

  boost::unordered_flat_map<const ColumnSet*, std::unique_ptr<ReadSet>> sets_;
  const ColumnSet* last_set_ = nullptr;
  const ReadSet* last_read_ = nullptr;
  boost::unordered_flat_map<std::string, std::unique_ptr<ReadColumn>> named_;
  std::string key_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_UNMAP_COLUMN_READER_H_
