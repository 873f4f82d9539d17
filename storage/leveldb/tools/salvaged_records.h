// SalvagedRecords: what was read of base and the heads of a damaged store -> the records of a new
// one. Of base's records those that can be decoded; where base does not tell of a table or a set of
// columns, the heads' copies and the block files do. Each head's entries are kept if their columns
// are known, and counted as lost if not; heads are numbered anew, from 1. One thread.
//
//   TakeBase, TakeHead..., then AddTable and AddFile for each block file, Resolve, Put....
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGED_RECORDS_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGED_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/files/head_claims.h"
#include "storage/leveldb/latest/entry_cells.h"
#include "storage/leveldb/tools/level_files.h"
#include "storage/leveldb/tools/salvage.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {

class SalvagedRecords {
 public:
  // What is lost is added to `report`, which outlives it.
  explicit SalvagedRecords(SalvageReport* report) : report_(*report) {}

  // `path` names it in findings.
  void TakeBase(const std::string& path, LevelRecords base);
  // In the order of their numbers. One that says that it is of another store is left out, and so is
  // one that holds what base or the heads before hold (files/head_claims.h).
  void TakeHead(const std::string& path, uint64_t number, LevelRecords head);
  // The id of the store, as base or else the first head tells; empty: neither does.
  const std::string& store() const { return store_; }
  void SetStore(std::string id) { store_ = std::move(id); }
  // Of the records of a head that was taken, as block files name it (FileSource); null: there is
  // no such head, or not all of it can be read.
  std::optional<uint64_t> ChecksumOf(uint64_t head) const;
  // Whether any head has entries, and base knows of no table that they could be of.
  bool HasEntriesWithoutBase() const { return !base_is_used_ && head_has_entries_; }
  bool base_is_used() const { return base_is_used_; }
  // Whether base, whatever tables it knows, and the heads are of a store that never held anything.
  bool AreNew() const {
    return sealed_head_ == 0 && recorded_.empty() && dropped_.empty() && !head_has_entries_;
  }
  uint64_t sealed_head() const { return sealed_head_; }  // By base; 0: not known.
  // Block files that base names, by number.
  const std::map<uint64_t, BlockFileInfo>& recorded() const { return recorded_; }
  // Files whose contents are elsewhere: the checksums of their descriptions, where that is known.
  const std::map<uint64_t, std::optional<uint64_t>>& dropped() const { return dropped_; }
  // Of heads that were sealed, by number.
  const std::map<uint64_t, HeadNote>& head_notes() const { return head_notes_; }
  // Null: unknown.
  const TableInfo* FindTable(TableId table) const;

  void AddTable(const TableInfo& table);
  void AddFile(const BlockFileInfo& file);
  // Leaves out what cannot be used. Nothing is added after it.
  void Resolve();
  size_t heads() const { return heads_.size(); }
  Status PutHead(size_t head, const StoreBuilder::Put& put) const;
  Status PutBase(const StoreBuilder::Put& put) const;

 private:
  using Records = std::map<std::string, std::string>;
  struct OfHead {
    std::string path;
    Records records;
    std::set<TableId> contradicted;  // Tables that are others than what is known of them.
  };

  void TakeMeta(const std::string& key, const std::string& value);
  void TakeNote(const std::string& key, const std::string& value);
  bool MayTake(const std::string& path, uint64_t number, const HeadClaims& claims);
  void TakeCopies(const Records& head);
  void TellOlderBase(const std::string& path, const HeadClaims& claims);
  std::set<TableId> FindContradicted(const std::string& path, const HeadClaims& claims);
  void ResolveBase();
  static void SplitGroups(OfHead* head);
  void ResolveHead(OfHead* head);
  void ResolveChanges(const std::set<uint64_t>& entries, std::string* record);
  bool IsUsableChange(const LatestChangeRecord& change, const std::set<uint64_t>& entries);
  // Null: unknown, or another one than the head at hand means.
  const TableInfo* TableOfHead(TableId table) const;
  bool IsUsableCopy(std::string_view key) const;
  bool IsUsableEntry(std::string_view key, std::string_view value, uint64_t* sequence);
  bool IsUsableRow(TableId table, std::string_view row);
  bool IsUsableTwin(TableId table, std::string_view row, const std::set<uint64_t>& entries) const;
  void Lose(const std::string& path, std::string problem);

  SalvageReport& report_;
  std::string base_path_;
  Records base_;  // Without those of the next ones.
  std::map<TableId, TableInfo> tables_;
  std::map<uint64_t, BlockFileInfo> recorded_;
  std::map<uint64_t, std::optional<uint64_t>> dropped_;
  std::map<uint64_t, HeadNote> head_notes_;
  std::map<uint64_t, uint64_t> head_checksums_;  // By number.
  std::string store_;
  bool base_is_used_ = false;
  bool head_has_entries_ = false;
  std::vector<BlockFileInfo> files_;  // Of the new store.
  std::vector<OfHead> heads_;
  ColumnRegistry sets_;
  uint64_t sealed_head_ = 0;
  uint64_t last_sequence_ = 0;
  TableId next_table_ = 1;
  EntryCells cells_;
  BeforeHead before_;                 // The next head that is taken.
  std::set<TableId> tables_of_base_;  // Those that base knows.
  bool base_is_older_ = false;        // Than a head: it was told.
  // Of the head at hand: tables of which nothing is used, and rows whose last whole value cannot
  // be.
  std::set<TableId> contradicted_;
  std::set<std::pair<TableId, std::string>> adrift_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGED_RECORDS_H_
