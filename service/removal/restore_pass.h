// RestorePass: one latest table, after one removal of events (latest_restorer.h): what history has
// from before the removed range is put for what was lost.
#ifndef TALLYD_SERVICE_REMOVAL_RESTORE_PASS_H_
#define TALLYD_SERVICE_REMOVAL_RESTORE_PASS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "service/fill/event_mapper.h"
#include "service/fill/fill_pass.h"
#include "service/fill/fill_wish.h"
#include "service/fill/table_reading.h"
#include "service/removal/latest_restorer.h"
#include "service/removal/newest_cells.h"

namespace tallyd {

class RestorePass {
 public:
  struct Parts {
    const LatestRestorer::Parts& of;
    const std::atomic<bool>& stopping;
  };
  // The wish has its source. `lost`: null where nobody knows. All that is pointed to outlives it.
  RestorePass(const Parts& parts, FillWish wish, const RemovalNote& note, LostCells* lost);

  // Until everything was found, or all is read. kConflict: the schema changed; begin anew.
  Status Run();

 private:
  struct Found {
    std::string row;
    FamilyId family = 0;
    std::string qualifier;
  };

  // kOverloaded: others came before; again.
  Status ReadSlice(const TimeRange& slice);
  Status Put(const NewestCells& cells, std::vector<Found>* found);
  Status Commit(std::unique_ptr<Batch> batch);

  const LatestRestorer::Parts& parts_;
  const std::atomic<bool>& stopping_;
  const FillWish wish_;
  const RemovalNote& note_;
  LostCells* const lost_;
  Store& store_;
  TableReading source_;
  PartScan scan_;
  EventMapper mapper_;
  const std::shared_ptr<RowWatch> watch_;
  uint64_t removals_ = 0;  // Of the stream, that there were when the slice's reading began.
  uint64_t events_ = 0;   // In the slice.
  RowStems stems_;        // Of the rows of the batch at hand.
};

// All latest tables of the removal's stream, or those that its note names. The answer is those of
// them that are out of the file: no event can be mapped into them until they are back.
Result<std::vector<TableId>> RestoreLatest(const RestorePass::Parts& parts, RestoreTask* task);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_RESTORE_PASS_H_
