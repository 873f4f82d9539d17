// The schema in force where tables have nightly tables: the configuration's, and behind its tables
// those nightly tables that the store holds, so that they are adopted, planned and read as others
// are. No stream lists them: events enter them by way of their source alone.
#ifndef TALLYD_SERVICE_NIGHTLY_NIGHTLY_SCHEMA_H_
#define TALLYD_SERVICE_NIGHTLY_NIGHTLY_SCHEMA_H_

#include <memory>
#include <string>

#include "config/schema/schema.h"
#include "service/nightly/nightly_record.h"
#include "storage/store.h"

namespace tallyd {

// The nightly table of that record: shaped like its source, but its families forget nothing.
Table NightlyTableOf(const Table& source, const NightlyRecord& record);

// Whether the stored table is the one that the record tells of, and not another that has its name
// by now. Where no number tells, it is if it has the shape of its source.
bool IsOf(const NightlyRecord& record, const TableInfo& stored, const Table& source);

// `configured` with its nightly tables; itself where it has none. A table whose source is gone, or
// has no nightly tables any more, or is of another shape than it was, is left out, and so is an
// orphan like any table that is taken out of the file. kConflict: all of them are more than
// kMaxTables.
Result<std::shared_ptr<const Schema>> WithNightly(std::shared_ptr<const Schema> configured,
                                                  Store& store);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_NIGHTLY_SCHEMA_H_
