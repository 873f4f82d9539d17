// SeriesWrite: what one write may bring of series that nobody wrote before. It is made before the
// schema is looked at, admits rows before they are committed, and lives until that is decided: the
// keeper (series_keeper.h) drops nothing that one might bring.
//
//   SeriesWrite series = keeper.Begin();
//   gate = series.GateOf(indexes, stream, bounds);   // For a mapper's events, or
//   series.NoteRows(indexes, stems);                 // for rows that come whatever there is.
//   ... the commit ...
//   series.Settle(stays);                            // Once. Without it nothing stays.
//
// What may be there although its commit failed stays: it goes when the keeper finds no row of it.
// Not thread-safe, but for its end on another thread.
#ifndef TALLYD_SERVICE_SERIES_SERIES_WRITE_H_
#define TALLYD_SERVICE_SERIES_SERIES_WRITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/map/row_stems.h"
#include "ingest/series/series_gate.h"
#include "service/series/field_limit.h"
#include "service/series/series_index.h"
#include "service/series/series_indexes.h"

namespace tallyd {

// 0: as many as come.
struct SeriesBounds {
  uint64_t series = 0;
  uint64_t fields = 0;
};

class SeriesWrite {
 public:
  // `since`: which writes began before it the keeper knows by who holds it.
  explicit SeriesWrite(std::shared_ptr<const void> since) : since_(std::move(since)) {}
  SeriesWrite() = default;
  SeriesWrite(SeriesWrite&&) = default;
  SeriesWrite& operator=(SeriesWrite&& other) {
    Settle(false);
    since_ = std::move(other.since_);
    reserved_ = std::exchange(other.reserved_, {});
    fields_ = std::exchange(other.fields_, {});
    return *this;
  }
  ~SeriesWrite() { Settle(false); }

  // Null where nothing of the stream is followed. Valid as long as this and the indexes are.
  std::unique_ptr<SeriesGate> GateOf(const SeriesIndexes* indexes, std::string_view stream,
                                     const SeriesBounds& bounds);
  // Rows that no bound holds back, by their stems or by their keys.
  void NoteRows(const SeriesIndexes* indexes, const RowStems& rows);
  void NoteRow(const SeriesIndexes* indexes, TableId table, std::string_view key);

  // Those of which something is new.
  std::vector<TableId> tables() const;
  // Idempotent.
  void Settle(bool stays);

 private:
  friend class WriteGate;

  void Note(const SeriesIndexPtr& index, std::string_view series);
  void Reserve(const SeriesIndexPtr& index, SeriesSet::Id id);

  std::shared_ptr<const void> since_;
  std::vector<std::pair<SeriesIndexPtr, std::vector<SeriesSet::Id>>> reserved_;
  std::vector<std::pair<std::shared_ptr<FieldLimit>, std::string>> fields_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_WRITE_H_
