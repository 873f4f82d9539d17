// EventMapper: events that were read from one table -> rows of another, by the same mapping as
// those that come (ingest/map). Views need to live as long as the call only. Not thread-safe.
#ifndef TALLYD_SERVICE_FILL_EVENT_MAPPER_H_
#define TALLYD_SERVICE_FILL_EVENT_MAPPER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "ingest/decode/shape.h"
#include "ingest/map/late_days.h"
#include "ingest/map/missed_fields.h"
#include "ingest/map/row_renderer.h"
#include "ingest/map/row_stems.h"
#include "ingest/map/table_mapping.h"
#include "ingest/unmap/row_reader.h"
#include "service/query/ask/stream_fields.h"
#include "storage/store.h"

namespace tallyd {

class EventMapper {
 public:
  // From where the events come, and what is known of the stream's fields. All outlive the mapper.
  struct Source {
    const Schema& schema;
    const Stream& stream;
    const Table& table;
    const StreamFields& known;
    const FieldTable& fields;  // Gives the numbers of the events' fields their names.
  };
  // `now` tells which days are past.
  EventMapper(const Source& source, const Table& table, TablePtr stored, TimeUs now, Store* store);
  ~EventMapper();

  // Puts what the table keeps of the event into the batch, and that it stays outside or leaves
  // something behind where it does (Batch::AddMissed). False: nothing of it is kept. What has
  // expired by `expires_by` is not.
  bool Map(const EventFragment& event, TimeUs expires_by, Batch* batch);
  // The days that the puts since the last call were of.
  LateDays TakeLateDays();
  // Of the rows that they put.
  RowStems TakeStems() { return std::exchange(stems_, RowStems()); }
  // Whether an event of these fields enters the table.
  bool Enters(const EventFragment& event) {
    const TableMapping& mapping = MappedOf(event).mapping;
    return mapping.stays_out.empty() && !mapping.refused;
  }
  // About what the puts since the last call take.
  size_t TakeBytes();

 private:
  // What becomes of the events of these fields.
  struct Mapped {
    Shape shape;
    TableMapping mapping;
    std::vector<MissedByTable> missed;
  };

  const Mapped& MappedOf(const EventFragment& event);
  bool IsLabel(const EventFragment& event, size_t field);
  void Miss(const Mapped& mapped, Batch* batch);

  const MappedTable table_;
  const Source source_;
  const bool tells_labels_;
  Store& store_;
  // By the numbers of the fields, each twice, and one more where it is a label.
  std::map<std::vector<uint32_t>, std::unique_ptr<Mapped>> mapped_;
  const Mapped* last_ = nullptr;
  std::vector<uint32_t> last_fields_;
  // By field: whether its text is a label, where the source's key does not tell.
  std::vector<std::optional<bool>> text_is_label_;
  std::vector<uint32_t> key_;
  std::vector<Value> values_;
  RowRenderer renderer_;
  size_t bytes_ = 0;
  RowStems stems_;
  const TimeUs now_;
  std::optional<LateDays> late_;  // Anew for each batch.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_EVENT_MAPPER_H_
