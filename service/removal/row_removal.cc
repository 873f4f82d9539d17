#include "service/removal/row_removal.h"

#include <fmt/format.h>

#include <string>

#include "service/fill/fill_record.h"

namespace tallyd {

Result<RemovalCount> RemoveRows(const RemovalParts& parts, const TablePtr& table,
                                const DeleteSpec& what) {
  RemovalCount count;
  count.Add(parts.store, table, what, parts.clock.Now());
  if (Status done = parts.writer.RemoveRows(parts.who, table, {&what, 1}); !done) {
    return done.error();
  }
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
