// Whether a table that is read by several scans, one opened after the other, is still what it was
// when the reading began. Rules that changed meanwhile misread cells of those before, and a table
// may be emptied for them and filled anew: what is read then would be a part and claim to be all.
#ifndef TALLYD_SERVICE_QUERY_SCAN_SAME_TABLE_H_
#define TALLYD_SERVICE_QUERY_SCAN_SAME_TABLE_H_

#include "config/values/result.h"
#include "storage/store.h"
#include "storage/table_info.h"

namespace tallyd {

// kUnavailable: the rules by which events enter `began`, or are stored in it, changed since, back
// to the same included. A table that was replaced under its name, or left the file, keeps its rows
// while it is there; of one that was dropped the store opens no scan. Called behind the opening of
// a scan, which is of one moment, and so of the rules before. Thread-safe.
Status CheckSameTable(const Store& store, const TableInfo& began);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_SAME_TABLE_H_
