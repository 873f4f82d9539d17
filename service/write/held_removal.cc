#include "service/write/held_removal.h"

#include <utility>

namespace tallyd {
namespace {

bool IsIn(const KeyRange& rows, std::string_view key) {
  return key >= rows.start && (rows.end.empty() || key < rows.end);
}

}  // namespace

bool MayHold(const Schema& schema, const TableInfo& stored) {
  const Table* const table = schema.FindTable(stored.name);
  return table == nullptr || table->flush_us.has_value();
}

void AddHeld(const TableInfo& stored, const DeleteSpec& what, std::vector<HeldRemoval>* held) {
  held->push_back({stored.id, [what](std::string_view key, TimeUs time, const ColumnRef& column) {
                     return IsIn(what.rows, key) && what.cells.Contains(time) &&
                            (!what.family || *what.family == column.family) &&
                            (!what.qualifier || *what.qualifier == column.qualifier);
                   }});
}

Result<uint64_t> CommitRemoval(Store* store, HeldCounters* counters, std::unique_ptr<Batch> batch,
                               const std::vector<HeldRemoval>& held) {
  if (held.empty()) {
    if (Status done = store->Commit(std::move(batch)); !done) return done.error();
    return 0;
  }
  uint64_t rows = 0;
  const Status done = WaitForCommit([&](CommitDone answered) {
    store->Submit(std::move(batch), [&, answered = std::move(answered)](Status committed) {
      if (committed) {
        for (const HeldRemoval& removal : held) rows += counters->Remove(removal);
      }
      answered(std::move(committed));
    });
  });
  if (!done) return done.error();
  return rows;
}

}  // namespace tallyd
