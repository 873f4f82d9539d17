// NightlyRecord: what is known of one nightly table, kept in the store as a memo beside it. The
// record comes before the table and is told to be built after it: a crash in between leaves a
// record whose table is built again.
#ifndef TALLYD_SERVICE_NIGHTLY_NIGHTLY_RECORD_H_
#define TALLYD_SERVICE_NIGHTLY_NIGHTLY_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

struct NightlyRecord {
  std::string name;    // The table's: not a part of the memo's value.
  std::string source;  // The table whose rows it holds.
  TimeUs day = 0;
  bool is_built = false;   // It was, once: false while it is made for the first time.
  bool is_behind = false;  // It is being built again, or that was interrupted.
  // Its life begins with the end of its day; where `keep` was over by then, when it was asked for.
  TimeUs lives_from = 0;
  TimeUs built_at = 0;  // By the retention clock.
  int64_t took_us = 0;  // The last build.
  uint64_t rows = 0;
  uint64_t cells = 0;
  // The store's number of the table, and of the one that takes its place, or just took it. Both 0:
  // there is none yet, or it was built before records had them.
  TableId table = 0;
  TableId staged = 0;
  friend bool operator==(const NightlyRecord&, const NightlyRecord&) = default;
};

// The memo's key.
std::string NightlyKey(std::string_view table);
std::string EncodeNightly(const NightlyRecord& record);
// Nothing: no such record.
std::optional<NightlyRecord> DecodeNightly(std::string_view key, std::string_view value);

// By name. What cannot be read is left out, and logged.
Result<std::vector<NightlyRecord>> ReadNightlyRecords(Store& store);

// Whether the source has rows of the day that came after the table was built, or may have, as of
// all commits that were answered before the call. It looks two memos up, so that it knows of a
// batch as soon as its writer does, and after a start no later than the first query; writers pay
// nothing for it. Whoever goes by the answer finds the table after it, since a table that is found
// before may be replaced in between by one that is whole.
Result<bool> IsBehind(Store& store, std::string_view table, const NightlyOf& of);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_NIGHTLY_RECORD_H_
