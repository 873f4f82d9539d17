// SeriesGate: who decides whether an event may be of a series, or have a field, that nobody wrote
// before (service/series/series_write.h). A mapper asks it about each event, once its rows are
// rendered and before any is put into the batch.
#ifndef TALLYD_INGEST_SERIES_SERIES_GATE_H_
#define TALLYD_INGEST_SERIES_SERIES_GATE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ingest/decode/event_batch.h"
#include "storage/table_info.h"

namespace tallyd {

class SeriesGate {
 public:
  // A row that an event writes, and its key without its time.
  struct Row {
    TableId table = 0;
    std::string_view series;
  };
  struct Answer {
    std::optional<Refusal> refusal;  // Nothing: the event may come.
    bool later = false;              // Nobody can tell yet: the whole batch is to come again.
  };

  virtual ~SeriesGate() = default;
  // The rows of one event, and those of its fields that the store is not known to have: all of it,
  // or none. Of an event that is refused nothing is remembered.
  virtual Answer Admit(std::span<const Row> rows, std::span<const std::string> fields) = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_SERIES_SERIES_GATE_H_
