// MergeCounts: what the store knows of events that fell on one cell of a table
// (storage/event_teller.h). Two kinds of witnesses:
//
// 1. Whoever writes entries again (seals a head, merges files) finds writes to one row and time
//    together for the last time: what it finds is counted, in the commit that puts the new files
//    in the place of the old ones. It also notes in which columns such writes differ, whether the
//    schema makes anything of it or not: a table that joins the stream later may.
// 2. Scans, of tables at risk, meet what is not written again yet: by row and time, so that the
//    first kind does not count it twice. That such events were met is stored soon after; how many,
//    the next scan tells.
//
// Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_MERGE_COUNTS_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_MERGE_COUNTS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "storage/leveldb/catalogue/write_teller.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/merge_witness.h"
#include "storage/table_info.h"

namespace tallyd {

// Its record, a meta record of base (storage/FORMAT.md, Meta).
inline constexpr MetaKind kMergedEvents = static_cast<MetaKind>(0x15);
std::string MergedEventsKey(TableId table);

// In how many events that fell on a cell of another one the column's value was another.
struct ColumnMerges {
  Column column;
  uint64_t events = 0;
  friend bool operator==(const ColumnMerges&, const ColumnMerges&) = default;
};

struct MergeRecord {
  uint64_t count = 0;  // Events that are no more, since others were written over them.
  bool any = false;    // Somebody met such events.
  TimeUs unknown_before = 0;
  // The columns in which writes to one row and time ever differed; where they became too many,
  // any may have.
  bool any_column = false;
  std::vector<ColumnMerges> columns;
  friend bool operator==(const MergeRecord&, const MergeRecord&) = default;
};
std::string EncodeMergeRecord(const MergeRecord& merges);
// kCorruption: a newer tallyd wrote it, or it is damaged.
Result<MergeRecord> DecodeMergeRecord(std::string_view record);

// The columns that tell the events of tables apart (config/schema/merge_risk.h), of those at risk.
// Keys of tables that are no longer in the schema count, too: they may come back. Serialized cells
// tell where `fields_of` reads them.
std::map<TableId, std::vector<Telling>> FindTelling(const Schema& schema,
                                                    const std::vector<TablePtr>& tables,
                                                    FieldsOfCell fields_of = nullptr);

// What one rewriting of a table's entries found.
struct MergesFound {
  uint64_t count = 0;
  std::vector<uint64_t> places;  // Where (RowWatch::PlaceOf); not all, if they are very many.
  std::vector<ColumnMerges> columns;  // In which writes to one row and time differed.

  bool empty() const { return count == 0 && columns.empty(); }
  void Add(uint64_t place, uint64_t events);
};

class MergeCounts {
 public:
  // More columns of a table are any, more places of a table are forgotten.
  static constexpr size_t kMaxColumns = 256;
  static constexpr size_t kMaxPlaces = 65'536;
  // Whose record says that such events are counted in this store.
  static constexpr TableId kBegan = 0;

  using Records = std::map<TableId, MergeRecord>;
  using Written = std::vector<std::pair<std::string, std::string>>;  // Keys and values.

  // What the database says.
  void Replace(Records records);
  // Nobody counted before: `unknown` are the tables that have something, and behind its last time.
  // Nothing happens where that was said before.
  void Begin(const std::map<TableId, TimeUs>& unknown);

  // What FindTelling says, whenever a schema was adopted.
  void SetTelling(std::map<TableId, std::vector<Telling>> telling);
  // None: the table is at no risk.
  std::vector<Telling> TellingOf(TableId table) const;

  MergedEvents Of(TableId table) const;

  // Of scans.
  void Met(TableId table, uint64_t place, uint64_t events);

  // Of whoever writes entries again: the record to be written with them, and when it is.
  std::pair<std::string, std::string> RecordWith(TableId table, const MergesFound& found) const;
  void Count(TableId table, const MergesFound& found);

  // Whether scans met something that is not written yet.
  bool has_met() const;
  // What is known and not written yet; WasWritten takes what was given, once it is.
  Written Unwritten() const;
  void WasWritten(const Written& records);
  void Forget(TableId table);

 private:
  struct OfTable {
    MergeRecord record;
    bool unwritten = false;
    std::unordered_map<uint64_t, uint64_t> met;  // By place; what is in the record is not.
  };

  static MergeRecord With(MergeRecord record, const MergesFound& found);

  mutable std::mutex mutex_;
  std::map<TableId, OfTable> tables_;  // Guarded by mutex_, like the next.
  std::map<TableId, std::vector<Telling>> telling_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_MERGE_COUNTS_H_
