// BigtableCatalogue: what the daemons of one instance agree on: tables and their numbers, families,
// from when on each holds what its rules take. A Catalogue whose records are one row, which is
// replaced as a whole by compare-and-set.
//
// Where two daemons have different files the one that adopted its last counts, and none adopts one
// of an older generation. The other sees it at its next look (Refresh), and is_foreign from then
// on: it must not write to the streams that differ.
//
// Nightly tables are the service layer's to make, and come and go beside the file: they are in no
// print of it, no adoption makes one anew that is gone, and none takes one out of use that another
// daemon has just made.
//
// How old what a table lacks is nobody looks for here: a table that joins a stream with rows, or
// whose rules change beside rows, is never told to be whole. Thread-safe; one adopter at a time.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_BIGTABLE_CATALOGUE_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_BIGTABLE_CATALOGUE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "storage/bigtable/catalogue/field_notes.h"
#include "storage/bigtable/catalogue/file_print.h"
#include "storage/bigtable/catalogue/fold_probe.h"
#include "storage/catalogue/catalogue.h"
#include "storage/table_catalogue.h"

namespace tallyd {

class BigtableCatalogue {
 public:
  // Whether the table shows a row. May block.
  using HoldsRow = std::function<Result<bool>(const TablePtr& table)>;

  // `client` and `clock` outlive it.
  BigtableCatalogue(BigtableClient* client, const Clock* clock, int64_t grain_us,
                    MayDropTable may_drop);

  Status Open(std::optional<SteadyTime> until = {}) { return rows_.Open(until); }
  Status Load() { return Refresh({}); }
  // What others changed since. `until`: in place of the client's deadline.
  Status Refresh(std::optional<SteadyTime> until);
  // The same, but that who asks while another one does so takes what that one found, if it began
  // later.
  Status RefreshOnce(SteadyTime until);

  Status Adopt(const Schema& schema, const HoldsRow& holds_row);
  Status Drop(std::string_view name);

  // As Staging (storage/capabilities.h): a table that is staged has the rows of its name.
  Result<TablePtr> Stage(const Table& table);
  Status Swap(const Table& table, TableId staged);
  Status DropStaged(std::string_view name) { return Drop(StagedName(name)); }
  std::vector<std::string> StagedNames() const { return catalogue_.StagedNames(); }

  TablePtr Find(std::string_view name) const { return catalogue_.Find(name); }
  std::vector<TablePtr> Tables() const { return catalogue_.Named(); }
  bool Exists(TableId table) const { return catalogue_.Exists(table); }
  uint64_t adoption() const { return catalogue_.adoption(); }
  // Another daemon adopted another file later.
  bool is_foreign() const { return is_foreign_; }
  // Then: in words, and whether the stream is another there.
  std::string WhyForeign() const;
  bool Differs(std::string_view stream) const;
  // Of what happens now; below any number that a later adoption gives, above all before.
  uint64_t sequence() const;

  // What counts may be sent again (fold_probe.h); known once a file with aggregate families was
  // adopted.
  bool takes_tokens() const { return takes_tokens_; }

  CatalogueRows& rows() { return rows_; }
  FieldNotes& notes() { return notes_; }
  const FieldNotes& notes() const { return notes_; }

 private:
  struct StoredSchema {
    std::string version;  // As the row has it; empty: it has none.
    uint64_t number = 0;
    FilePrint print;
    StoredCatalogue stored;
  };
  // A table as it will be, and as it was; null: there was none.
  struct TableChange {
    TableInfo table;
    TablePtr before;
  };
  class Past;

  Status Look(std::optional<SteadyTime> until);  // REQUIRES: change_mutex_.
  Result<StoredSchema> ReadSchema(std::optional<SteadyTime> until = {});
  Result<bool> Replace(const StoredSchema& before, const Catalogue::Plan& plan,
                       const FilePrint& print);
  Result<bool> TryAdopt(const Schema& wanted, const FilePrint& print, const HoldsRow& holds_row);
  Schema WithoutGone(Schema schema) const;
  Status CheckFolds(const Schema& schema);
  std::vector<TableChange> ChangesOf(const Schema& schema, const Catalogue::Plan& plan) const;
  Status MakeTables(const Catalogue::Plan& plan, std::span<const TableChange> changes);
  void Tighten(std::span<const TableChange> changes);
  // Until no other daemon is faster: plans on what is stored, does what is to be done `before` the
  // plan is the truth, and makes it that.
  using MakePlan = std::function<Result<Catalogue::Plan>()>;
  using DoBefore = std::function<Status(const Catalogue::Plan& plan)>;
  Status Change(const MakePlan& make_plan, const DoBefore& before);
  void Take(StoredSchema read);
  void Compare();  // REQUIRES: mutex_.
  void ForgetNotes(const std::vector<TableId>& dropped);

  BigtableClient& client_;
  const Clock& clock_;
  const int64_t grain_us_;
  const MayDropTable may_drop_;
  CatalogueRows rows_;
  FieldNotes notes_;
  Catalogue catalogue_;
  std::optional<FoldTraits> folds_;  // Once it was asked; guarded by change_mutex_.
  std::atomic<bool> takes_tokens_ = false;

  std::mutex change_mutex_;          // Held by who changes the catalogue or reads it anew.
  std::atomic<uint64_t> looks_ = 0;  // That have begun; set under change_mutex_.
  uint64_t last_good_look_ = 0;      // Which of them. Guarded by change_mutex_.
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::string version_;
  uint64_t number_ = 0;
  FilePrint print_;                       // Of the file that counts.
  FilePrint own_print_;                   // Of the file that was adopted here.
  std::vector<std::string> differing_;    // Streams of it that are others there, by name.
  std::atomic<bool> is_foreign_ = false;  // Set under mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_BIGTABLE_CATALOGUE_H_
