#include "service/removal/row_removal.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/fill/fill_record.h"

namespace tallyd {

namespace {

constexpr size_t kMostRowsEach = 100'000;

// Row by row, where rows of others may lie between.
Result<std::vector<DeleteSpec>> DeletesOfEach(const RemovalParts& parts, const TablePtr& table,
                                              const DeleteSpec& what, const RowClamp& clamp) {
  ScanSpec spec;
  spec.ranges = {what.rows};
  spec.cells = what.cells;
  spec.keys_only = true;
  spec.now = parts.clock.Now();
  const std::unique_ptr<RowScan> scan = ScanRows(parts.store, table, std::move(spec), &clamp);
  std::vector<DeleteSpec> each;
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return each;
    if (each.size() == kMostRowsEach) {
      return Error(ErrorCode::kUnprocessable,
                   fmt::format("more than {} rows of table {} would have to be deleted one by one; "
                               "name a longer prefix",
                               kMostRowsEach, table->name));
    }
    each.push_back(what);
    each.back().rows = RangeOfKey(scan->row().key);
  }
}

// What of it is the clamp's own. `count` is told what is in that.
Result<std::vector<DeleteSpec>> OwnDeletes(const RemovalParts& parts, const TablePtr& table,
                                           const DeleteSpec& what, const RowClamp& clamp,
                                           RemovalCount* count) {
  std::vector<DeleteSpec> own;
  for (const KeyRange& range : clamp.Within({what.rows})) {
    own.push_back(what);
    own.back().rows = range;
  }
  if (own.empty()) return clamp.Outside();
  if (!clamp.leads() && what.rows != RangeOfKey(what.rows.start)) {
    Result<std::vector<DeleteSpec>> each = DeletesOfEach(parts, table, what, clamp);
    for (size_t i = 0; each && i < each->size(); ++i) count->AddRow();
    return each;
  }
  for (const DeleteSpec& each : own) {
    count->AddOwn(parts.store, table, each, parts.clock.Now(), clamp);
  }
  return own;
}

}  // namespace

Result<RemovalCount> RemoveRows(const RemovalParts& parts, const TablePtr& table,
                                const DeleteSpec& what, const RowClamp* clamp) {
  RemovalCount count;
  std::vector<DeleteSpec> deletes = {what};
  if (clamp == nullptr) {
    count.Add(parts.store, table, what, parts.clock.Now());
  } else {
    Result<std::vector<DeleteSpec>> own = OwnDeletes(parts, table, what, *clamp, &count);
    if (!own) return own.error();
    deletes = std::move(*own);
  }
  if (deletes.empty()) return count;
  Status done = parts.writer.RemoveRows(parts.who, table, deletes);
  if (done) done = parts.nightly.NoteRemoved(table->stream);
  if (!done) return done.error();
  return count;
}

Status RemoveTable(const RemovalParts& parts, const TablePtr& table) {
  const Result<std::string> needed = WhoNeeds(parts.store, table->name);
  if (!needed) return needed.error();
  if (!needed->empty()) {
    return Error(ErrorCode::kConflict,
                 fmt::format("table {} was emptied to be filled anew from {}, and is not "
                             "filled yet: put {} back into the file until it is",
                             *needed, table->name, table->name));
  }
  if (Status removed = parts.writer.RemoveTable(parts.who, table); !removed) return removed;
  return parts.nightly.Forget(table->name);
}

}  // namespace tallyd
