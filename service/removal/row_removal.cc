#include "service/removal/row_removal.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/fill/fill_wish.h"
#include "service/fill/filler.h"
#include "service/removal/held_removal.h"

namespace tallyd {

Result<RemovalCount> RemoveRows(const RemovalParts& parts, const TablePtr& table,
                                const DeleteSpec& what) {
  if (parts.filler != nullptr && parts.filler->IsFilling(table->name)) {
    return Error(ErrorCode::kConflict,
                 fmt::format("table {} is being filled from another one, which would bring "
                             "it back: delete the events of the stream {}, or wait until it "
                             "is filled (/v1/status)",
                             table->name, table->stream));
  }
  RemovalCount count;
  count.Add(parts.store, table, what, parts.clock.Now());
  std::unique_ptr<Batch> batch = parts.store.NewBatch();
  batch->Delete(*table, what);
  NoteHandChange(*table, HandChange::kDeleted, batch.get());
  std::vector<HeldRemoval> held;
  if (MayHold(*parts.live_schema.snapshot()->schema, *table)) AddHeld(*table, what, &held);
  const Result<uint64_t> done =
      CommitRemoval(&parts.store, &parts.counters, std::move(batch), held);
  if (!done) return done.error();
  parts.row_sizes.Shrink(table->id, what.rows);
  return count;
}

Status RemoveTable(const RemovalParts& parts, const TablePtr& table) {
  if (parts.filler != nullptr) {
    const Result<std::string> needed = parts.filler->WhoNeeds(table->name);
    if (!needed) return needed.error();
    if (!needed->empty()) {
      return Error(ErrorCode::kConflict,
                   fmt::format("table {} was emptied to be filled anew from {}, and is not "
                               "filled yet: put {} back into the file until it is",
                               *needed, table->name, table->name));
    }
  }
  if (Status dropped = parts.store.DropTable(table->name); !dropped) return dropped;
  std::unique_ptr<Batch> batch = parts.store.NewBatch();
  ForgetHandChanges(table->name, batch.get());
  if (Status done = parts.store.Commit(std::move(batch)); !done) return done;
  if (parts.nightly != nullptr) {
    if (Status forgotten = parts.nightly->Forget(table->name); !forgotten) return forgotten;
  }
  parts.row_sizes.Shrink(table->id, {});
  return {};
}

}  // namespace tallyd
