// What the store has learned of the events that came: ColumnRegistry, the sets of columns in which
// they recur; FieldCatalogue, the fields ever seen in each stream, with the types they had, and
// those of which tables missed something. What is new in them is written by the first commit that
// needs it. Read from many threads; thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_REGISTRIES_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_REGISTRIES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/store.h"
#include "storage/table_info.h"

namespace tallyd {

// ColumnRegistry: every ColumnSet of every table, by number and by columns. Interning gives a
// number at once; the set's record is written in the first commit that uses it (IsStored tells
// whether one did), so a set that is never used is never stored. Sets live as long as the registry.
class ColumnRegistry {
 public:
  // Per table; beyond, columns do not recur.
  static constexpr size_t kMaxSets = 16'384;
  static constexpr size_t kMaxBytes = 16u << 20;  // Of the sets' records.
  // No set's number: columns by name.
  static constexpr uint32_t kNoSet = UINT32_MAX;
  static_assert(kMaxSets < kNoSet);

  ColumnRegistry();
  ~ColumnRegistry();
  ColumnRegistry(const ColumnRegistry&) = delete;
  ColumnRegistry& operator=(const ColumnRegistry&) = delete;

  // Null when the table has as many sets as it may have and this is none of them. REQUIRES:
  // distinct columns.
  const ColumnSet* Intern(const TableInfo& table, std::span<const ColumnRef> columns);
  // The set of these columns, which are in read order; null if there is none.
  const ColumnSet* FindEqual(TableId table, const std::vector<Column>& columns) const;
  // Null if unknown.
  const ColumnSet* Find(TableId table, uint32_t set) const;

  // What was read from the database. Also after a reopen: a set that is known becomes stored.
  Status Load(TableId table, uint32_t set, std::vector<Column> columns);
  std::vector<uint32_t> StoredSets(TableId table) const;

  // REQUIRES, for these: the set is of this registry.
  static bool IsStored(const ColumnSet& set);
  static void SetStored(const ColumnSet& set, bool stored);
  // Before reloading from a database whose last writes may not have arrived.
  void ForgetStored();

 private:
  struct Registered;
  struct OfTable;

  Registered* Add(OfTable* table, TableId table_id, uint32_t set, std::vector<Column> columns);

  mutable std::shared_mutex mutex_;
  std::unordered_map<TableId, std::unique_ptr<OfTable>> tables_;
};

// stream -> field -> marks
using FieldTypes =
    std::map<std::string, std::map<std::string, FieldMarks, std::less<>>, std::less<>>;

// What a table missed, by field.
using MissedFields = std::map<TableId, std::map<std::string, MissedField, std::less<>>>;

// FieldCatalogue: changed by the committer's thread when a commit that brought news succeeded.
class FieldCatalogue {
 public:
  // Of the names of one stream, and of those that a table missed; beyond, new fields are not
  // remembered.
  static constexpr size_t kMaxNameBytes = 16u << 20;

  // No types: it is new.
  FieldMarks Find(std::string_view stream, std::string_view field) const;
  // The same for whoever makes a batch: what is doubted is to be told again.
  FieldMarks FindSure(std::string_view stream, std::string_view field) const;
  std::vector<FieldInfo> Fields(std::string_view stream) const;
  // The last commit that brought a new field; of those that were loaded, all before it.
  uint64_t AddedBy(std::string_view stream, std::string_view field) const;

  // FieldKeeper::DoubtFields. What is added is not doubted any more.
  void Doubt(std::string_view stream, const std::vector<std::string>& names);
  std::vector<std::string> Doubted(std::string_view stream) const;
  // What every batch holds while there is it. After the first call since Doubt: whether all batches
  // that were there by then are gone.
  std::shared_ptr<const void> HoldBatches() const;
  bool BatchesAreGone(std::string_view stream);
  // The last sequence when they were found to be gone; `now` at the first call.
  uint64_t GoneBy(std::string_view stream, uint64_t now);
  // Of the committer's thread, when the commit that forgot them succeeded.
  void Forget(std::string_view stream, const std::vector<std::string>& names);
  bool HasRoom(std::string_view stream) const;
  bool HasRoomForMissed(TableId table) const;
  // How the table missed the field; 0 if it did not.
  uint8_t HowMissed(TableId table, std::string_view field) const;
  // By name.
  std::vector<MissedField> Missed(TableId table) const;
  // `sequence`: the last one of the commit, or of those that what is loaded came with.
  void Add(const FieldTypes& fields, const MissedFields& missed, uint64_t sequence);
  void Replace(const FieldTypes& fields, const MissedFields& missed, uint64_t sequence);

 private:
  struct DoubtedFields {
    std::set<std::string, std::less<>> names;
    std::optional<std::vector<std::weak_ptr<const void>>> batches;
    std::optional<uint64_t> gone_by;
  };

  // REQUIRES, all: mutex_ exclusively.
  void AddFields(const FieldTypes& fields, uint64_t sequence);
  void AddMissed(const MissedFields& missed);

  mutable std::shared_mutex mutex_;
  FieldTypes fields_;
  MissedFields missed_;
  uint64_t loaded_by_ = 0;
  // Of the fields that came since.
  std::map<std::string, std::map<std::string, uint64_t, std::less<>>, std::less<>> added_by_;
  std::map<std::string, DoubtedFields, std::less<>> doubted_;      // By stream.
  std::shared_ptr<const void> batches_ = std::make_shared<int>();  // What new ones hold.
  std::vector<std::weak_ptr<const void>> old_batches_;             // What earlier ones hold.
  std::map<TableId, size_t> missed_bytes_;                         // Of names.
  std::map<std::string, size_t, std::less<>> name_bytes_;          // By stream.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_REGISTRIES_H_
