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
#include <vector>

#include "config/schema/schema.h"
#include "ingest/decode/shape.h"
#include "ingest/map/late_days.h"
#include "ingest/map/missed_fields.h"
#include "ingest/map/row_renderer.h"
#include "ingest/map/table_mapping.h"
#include "ingest/unmap/row_reader.h"
#include "storage/store.h"

namespace tallyd {

class EventMapper {
 public:
  // All outlive the mapper. `fields` gives the numbers of the events' fields their names. `now`
  // tells which days are past.
  EventMapper(const Table& table, TablePtr stored, TimeUnit unit, const FieldTable& fields,
              TimeUs now, Store* store);
  ~EventMapper();

  // Puts what the table keeps of the event into the batch, and that it stays outside or leaves
  // something behind where it does (Batch::AddMissed). False: nothing of it is kept. What has
  // expired by `expires_by` is not.
  bool Map(TimeUs time, std::span<const EventField> event, TimeUs expires_by, Batch* batch);
  // The days that the puts since the last call were of.
  LateDays TakeLateDays();
  // Whether an event of these fields enters the table.
  bool Enters(std::span<const EventField> event) {
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

  const Mapped& MappedOf(std::span<const EventField> event);
  void Miss(const Mapped& mapped, Batch* batch);

  const MappedTable table_;
  const TimeUnit unit_;
  const FieldTable& fields_;
  Store& store_;
  std::map<std::vector<uint32_t>, std::unique_ptr<Mapped>> mapped_;
  const Mapped* last_ = nullptr;
  std::vector<uint32_t> last_fields_;
  std::vector<uint32_t> key_;
  std::vector<Value> values_;
  RowRenderer renderer_;
  size_t bytes_ = 0;
  const TimeUs now_;
  std::optional<LateDays> late_;  // Anew for each batch.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_EVENT_MAPPER_H_
