// The rows of one event, rendered before any of them is put into a batch, because an event enters
// all of its tables or none.
//
//   renderer.Begin();
//   for each table: if (renderer.Render(...) == kRefused) -> renderer.refusal(), nothing is put;
//   for (const PendingRow& row : renderer.rows()) ... renderer.values(row) ...
//
// Views are valid until the next Begin. Keeps its memory. Not thread-safe.
#ifndef TALLYD_INGEST_MAP_ROW_RENDERER_H_
#define TALLYD_INGEST_MAP_ROW_RENDERER_H_

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/placeholder.h"
#include "ingest/blob/blob.h"
#include "ingest/decode/event_batch.h"
#include "ingest/map/table_mapping.h"
#include "storage/batch.h"

namespace tallyd {

struct PendingRow {
  const TableMapping* mapping = nullptr;
  std::string_view key;
  TimeUs time = 0;
  const ColumnSet* set = nullptr;  // Null: see columns().
  size_t first_value = 0;
  size_t value_count = 0;
  size_t first_column = 0;
  size_t stem_size = 0;  // Of the key: what stands before its time (RowKeyTemplate::StemSize).
  bool is_misread = false;  // A column of it is read back as what the event did not say.
};

class RowRenderer {
 public:
  enum class Outcome : uint8_t { kRendered, kExpired, kRefused };
  void Begin();
  // What the families have forgotten by `expires_by` is not rendered.
  Outcome Render(const TableMapping& mapping, const Event& event, const TableTime& time,
                 TimeUs expires_by);

  std::span<const PendingRow> rows() const { return rows_; }
  std::span<const Value> values(const PendingRow& row) const {
    return std::span(values_).subspan(row.first_value, row.value_count);
  }
  std::span<const ColumnRef> columns(const PendingRow& row) const {
    return std::span(columns_).subspan(row.first_column, row.value_count);
  }
  const Refusal& refusal() const { return refusal_; }
  // More than it should until the next event: it had to render a large text.
  bool keeps_much() const { return text_.capacity() > kKeptTextBytes; }

 private:
  Outcome RenderRow(const TableMapping& mapping, const RowMapping& row, const Event& event,
                    const TableTime& time);
  bool WriteKey(const RowMapping& row, const Event& event, TimeUs time, std::string_view* key);
  static char* WriteLabels(const LabelsPart& part, const Event& event, char* to);
  char* WritePart(const TextPart& part, const Event& event, TimeUs time, char* to);
  size_t SharedParts(const RowMapping& row, TimeUs time) const;
  bool RenderKey(const TableMapping& mapping, const RowMapping& row, const Event& event,
                 const TableTime& time);
  bool RenderCell(const TableMapping& mapping, const CellMapping& cell, const Event& event,
                  const TableTime& time);
  void AppendLabelsOf(const LabelsPart& part, const Event& event);
  bool RenderText(std::span<const TextPart> parts, TemplateUse use, const Event& event,
                  const TableTime& time);
  void AppendTimeText(const Segment& segment, TimeUs time);
  const std::string* FindTimeText(const Segment& segment, TimeUs time);
  const RowMapping& NamedRow(const RowMapping& row, TimeUs time);
  void RenderBlob(const CellMapping& cell, const Event& event);
  bool DropExpired(PendingRow* row);
  bool MakeStates(const RowMapping& row, const Event& event, const PendingRow& pending);
  bool MakeState(const CellMapping& cell, const Event& event, const TableMapping& mapping,
                 Value* value);
  void AddByCellTime(const RowMapping& row, const PendingRow& pending);
  bool CheckDistinct(const TableMapping& mapping, const RowMapping& row, const PendingRow& pending);
  bool Refuse(std::string_view field, std::string detail);

  std::vector<PendingRow> rows_;
  std::vector<Value> values_;
  std::vector<ColumnRef> columns_;
  std::vector<FamilyId> expired_;  // Families that would have forgotten the event already.
  std::string text_;
  size_t stem_size_ = 0;  // Of the key that was made last.
  // The key that WriteKey made last of the event at hand.
  struct WrittenKey {
    static constexpr uint32_t kNone = UINT32_MAX - 1;  // Behind it comes the number of no row.
    uint32_t number = kNone;                           // Of its row.
    TimeUs time = 0;
    const char* text = nullptr;
    size_t stem_size = 0;                          // As far as its parts tell.
    std::array<uint32_t, kMaxSharedParts> ends{};  // Of its first parts.
  };
  WrittenKey written_;
  std::vector<BlobField> blob_;
  std::vector<size_t> order_;
  std::vector<TimeUs> times_;  // Distinct, of the cells of an aggregate row.
  // Events that come together mostly have times of the same periods: what was made of the last ones
  // is found here by what it was made of.
  struct TimeText {
    const Segment* segment = nullptr;
    int64_t step = 0;
    TimeUs from = 0;  // The text is that of [from, from + step).
    std::string text;
  };
  struct TimedRow {
    std::shared_ptr<TimedRows> rows;
    int64_t period = 0;
    const RowMapping* row = nullptr;
  };
  static constexpr size_t kRemembered = 16;
  static constexpr size_t kKeptTextBytes = 256u << 10;
  std::array<TimeText, kRemembered> time_texts_;
  std::array<TimedRow, kRemembered> timed_rows_;
  Arena arena_;
  Refusal refusal_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_ROW_RENDERER_H_
