// BigtableBatch: a batch as the calls that are made of it: notes that come before its rows, an
// entry of MutateRows for each row, deletes of ranges between them, notes that come behind.
//
// A row of a `keep = "row"` table is one event. It is written by a CheckAndMutateRow, which looks
// that the row holds nothing newer, and otherwise takes the row's place: so an event of the same
// time replaces all of the other, and a late one nothing.
//
// What is deleted of one row goes with what is written to it, in one entry, where Bigtable can say
// so: all of the row, a family, a column. Else, and of ranges, it is a removal between two steps.
//
// What is written to an aggregate family is added by the service (AddToCell): inputs of one cell
// are folded here first, so a row has one of them for each cell.
#ifndef TALLYD_STORAGE_BIGTABLE_BATCH_BIGTABLE_BATCH_H_
#define TALLYD_STORAGE_BIGTABLE_BATCH_BIGTABLE_BATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/batch.h"
#include "storage/bigtable/codec/cell_codec.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

// What batches need of a table, made once for each adoption of it.
struct WireTable {
  TableInfo info;
  std::string name;  // In full.
  CellCodec codec;
};
using WireTablePtr = std::shared_ptr<const WireTable>;

// Thread-safe.
class WireTables {
 public:
  explicit WireTables(const BigtableClient& client) : client_(client) {}
  WireTablePtr Of(const TableInfo& table);

 private:
  const BigtableClient& client_;
  std::mutex mutex_;
  std::map<TableId, WireTablePtr> tables_;  // Guarded by mutex_.
};

// Whether some cell may have a time of those.
bool HasTimes(const DeleteSpec& what, int64_t grain_us);
// The times of it: of a column whose names are set.
void DeleteColumn(const TableInfo& table, const DeleteSpec& what, int64_t grain_us,
                  data_api::Mutation::DeleteFromColumn* column);

class BigtableBatch final : public Batch {
 public:
  // A row; of a `keep = "row"` table the event that is the newest of the batch.
  struct Entry {
    WireTablePtr table;
    TimeUs time = 0;     // Of that event.
    uint64_t place = 0;  // A hash of the row, for those who ask whether others write to it.
    data_api::MutateRowsRequest::Entry entry;
    bool folds = false;   // Some of it is folded into what the row holds.
    bool counts = false;  // And comes to more when it comes twice.
    bool is_checked() const { return table->info.mode == TableMode::kLatestRow; }
  };
  // Deletes that stand one behind the other, and of which all but the rows is the same.
  struct Removal {
    WireTablePtr table;
    DeleteSpec what;               // Of each of these, which stand for its own rows:
    std::vector<KeyRange> ranges;  // in key order, disjoint.
  };
  // Rows, and behind them what is to be deleted.
  struct Step {
    std::vector<Entry> rows;
    std::optional<Removal> removal;
  };
  struct Memo {
    NoteOrder order = NoteOrder::kAfter;
    std::optional<std::string> value;  // None: it is dropped.
  };
  struct Claimed {
    std::string key;
    std::string owner;
  };
  struct Notes {
    std::map<std::pair<std::string, std::string>, uint8_t> fields;  // By stream and name.
    std::vector<std::pair<std::string, std::string>> spellings;
    std::map<std::pair<TableId, std::string>, uint8_t> missed;
    std::map<std::string, Memo> memos;
    bool empty() const {
      return fields.empty() && spellings.empty() && missed.empty() && memos.empty();
    }
  };

  // `adoption`: of the catalogue, when the batch was begun. `tables` outlives it.
  BigtableBatch(WireTables* tables, uint64_t adoption, int64_t grain_us);

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override;
  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override;
  void Delete(const TableInfo& table, const DeleteSpec& what) override;
  void AddField(std::string_view stream, std::string_view field, uint8_t type_bits) override;
  void NoteSpelling(std::string_view stream, std::string_view field) override;
  void AddMissed(const TableInfo& table, std::string_view field, uint8_t how) override;
  void PutMemo(std::string_view key, std::string_view value, NoteOrder order) override;
  void DropMemo(std::string_view key) override;
  void CountUnder(std::string_view claim, std::string_view owner) override {
    claim_ = {std::string(claim), std::string(owner)};
  }
  bool empty() const override;

  // A row as another batch had it; its table and place are set here. REQUIRES: this has no other
  // of that row, and deletes nothing.
  void AddEntry(const TableInfo& table, Entry row);

  uint64_t adoption() const { return adoption_; }
  std::vector<Step>& steps() { return steps_; }
  const std::vector<Step>& steps() const { return steps_; }
  const Notes& notes() const { return notes_; }
  bool has_removals() const { return removals_ > 0; }
  bool has_deletes() const { return deletes_; }  // By removals, or among what is done to a row.
  bool folds() const { return folds_; }          // Some row does.
  // Under which it counts (Claiming); the key is empty where that is none.
  const Claimed& claim() const { return claim_; }
  // Of what it cannot hold, where something is so.
  const std::optional<Error>& refused() const { return refused_; }
  size_t rows() const { return rows_; }
  size_t bytes() const { return bytes_; }  // About what it takes in memory.

 private:
  // Null: a newer event of the row is there.
  Entry* Find(const TableInfo& table, std::string_view row_key, TimeUs time);
  void PutCell(Entry* entry, const ColumnRef& column, const Value& value, TimeUs time);
  void PutState(Entry* entry, const ColumnRef& column, const Value& state, TimeUs time);
  void CheckName(std::string_view field);
  void DeleteOfRow(const TableInfo& table, const DeleteSpec& what);
  const WireTablePtr& TableOf(const TableInfo& table);
  // False: what was deleted last is something else, or rows came behind it.
  bool JoinRemoval(const TableInfo& table, const DeleteSpec& what);

  WireTables& tables_;
  const uint64_t adoption_;
  const int64_t grain_us_;
  std::vector<Step> steps_;
  std::unordered_map<std::string, size_t> places_;  // Of the last step: by table and key.
  // The row's mutation, by the row's place in the last step, column and time.
  std::unordered_map<std::string, int> added_;
  std::string place_key_;
  WireTablePtr last_table_;
  Notes notes_;
  bool folds_ = false;
  Claimed claim_;
  std::optional<Error> refused_;
  size_t removals_ = 0;
  bool deletes_ = false;
  size_t rows_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_BATCH_BIGTABLE_BATCH_H_
