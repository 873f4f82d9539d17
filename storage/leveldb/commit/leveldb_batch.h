// LevelDbBatch: a Batch that holds its changes as database keys and values, ready but for their
// sequence numbers, which the committer knows. One buffer for all bytes; a Put allocates nothing
// once the buffer has grown. Filled by one thread, then read by the committer's.
//
// The cells of aggregate families are folded here before they are encoded, so that however many
// inputs of one cell a batch has, they are one entry: they wait, by row and time, until a delete
// comes or Finish is called, which whoever submits the batch does.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_LEVELDB_BATCH_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_LEVELDB_BATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/batch.h"
#include "storage/bytes/coding.h"
#include "storage/leveldb/catalogue/registries.h"

namespace tallyd {

class LevelDbBatch final : public Batch {
 public:
  enum class OpKind : uint8_t {
    kEntry,       // An entry of a history table; the key's sequence is to be patched.
    kLatest,      // A layer of a latest table's row; the key is the row key.
    kDelete,      // deletes()[index].
    kTrim,        // A latest table's row, of which what is to go goes; the key is the row key.
    kStoreRow,    // A latest table's row: base gets it as it is; the key is the row key.
    kPutRecord,   // A key and value as they are (meta, what the sealer records).
    kDropRecord,  // A key to remove.
    kPutMemo,     // Key and value as a head has them.
    kDropMemo,    // The same.
  };
  struct Op {
    OpKind kind = OpKind::kEntry;
    TableMode mode = TableMode::kHistory;
    TableId table = 0;
    uint32_t key_size = 0;
    uint32_t index = 0;
    int32_t twin = -1;  // Of kLatest: the entry before it that has the same values.
    size_t offset = 0;  // Of the key; the value follows it.
    size_t value_size = 0;
    TimeUs time = 0;
  };

  explicit LevelDbBatch(const FieldCatalogue& known_fields) : known_fields_(known_fields) {}

  void Expect(size_t puts) override {
    ops_.reserve(ops_.size() + puts);
    bytes_.Reserve(puts * kUsualPutBytes);
  }
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
  bool empty() const override {
    return ops_.empty() && folding_.empty() && fields_.empty() && missed_.empty();
  }

  // Encodes what is being folded. Before the batch is submitted; a Put may follow all the same.
  void Finish();

  // The batch commits in a group of its own; right before, on the committer's thread, `call` may
  // still add records to it. An error refuses the batch.
  void CommitAlone(std::function<Status()> call) { prepare_ = std::move(call); }
  const std::function<Status()>& prepare() const { return prepare_; }

  // What it was read under: its own writes are not noted there.
  void SetWatch(std::shared_ptr<RowWatch> watch) { watch_ = std::move(watch); }
  const RowWatch* watch() const { return watch_.get(); }
  // Where a row of the table is written to; nothing for what is no such write.
  std::optional<uint64_t> PlaceOf(const Op& op) const;
  // Whether somebody came before it.
  bool WasForestalled() const;
  // What of it the watch is to note.
  void TellOf(RowWatch* watch) const;

  // For the engine itself.
  // What is to go of the rows that are trimmed: what pending deletes up to this sequence hide, and
  // cells that are older, by their family. What else is in the batch does not matter.
  struct Trim {
    uint64_t deletes = 0;
    std::vector<TimeUs> oldest;
  };
  void SetTrim(Trim trim) { trim_ = std::move(trim); }
  void TrimRow(TableId table, std::string_view row_key);
  // The table may have been dropped.
  void StoreRow(TableId table, std::string_view row_key);
  void PutRecord(std::string_view key, std::string_view value);
  void DropRecord(std::string_view key);

  const std::vector<Op>& ops() const { return ops_; }
  char* KeyOf(const Op& op) { return bytes_.data() + op.offset; }
  std::string_view Key(const Op& op) const { return bytes_.View(op.offset, op.key_size); }
  std::string_view ValueOf(const Op& op) const {
    return bytes_.View(op.offset + op.key_size, op.value_size);
  }
  const std::vector<DeleteSpec>& deletes() const { return deletes_; }
  const Trim& trim() const { return trim_; }
  const std::vector<const ColumnSet*>& new_sets() const { return new_sets_; }
  const FieldTypes& fields() const { return fields_; }
  const MissedFields& missed() const { return missed_; }
  const std::vector<TableId>& tables() const { return tables_; }  // That it writes to.
  // Of the entries in it, by place in tables(); empty where a table has none.
  const std::vector<TimeRange>& times() const { return times_; }
  // How the entries and layers in it are laid out: by a set of columns of their table, or by name
  // (kNoSet). Each at least once: again where another one of the same table came between.
  struct Layout {
    TableId table = 0;
    uint32_t set = ColumnRegistry::kNoSet;
    friend bool operator==(const Layout&, const Layout&) = default;
  };
  const std::vector<Layout>& layouts() const { return layouts_; }
  // The oldest adoption of a schema that made one of these tables (TableInfo::adoption).
  uint64_t adoption() const { return adoption_; }
  // False: it only removes, or records what the store itself does.
  bool stores_something() const;
  // REQUIRES: Finish was called since the last Put.
  size_t bytes() const { return bytes_.size() + ops_.size() * sizeof(Op); }

 private:
  // Of key and value: what is made room for at first. Too little is made up for, and too much is
  // never touched.
  static constexpr size_t kUsualPutBytes = 96;
  static constexpr size_t kUsualTables = 4;

  // The aggregate cells of one row and time.
  struct Folding {
    TableId table = 0;
    TimeUs time = 0;
    const ColumnSet* set = nullptr;  // That all were put by; null: `cells` tells their names.
    // By the rank of the family, and the qualifier: in read order.
    std::map<std::pair<uint16_t, std::string>, std::pair<FamilyId, AggregateFold>> cells;
  };

  void PutPlain(const TableInfo& table, std::string_view row_key, TimeUs time,
                std::span<const ColumnRef> columns, std::span<const Value> values);
  void PutFolded(const TableInfo& table, std::string_view row_key, TimeUs time,
                 const ColumnSet* set, std::span<const ColumnRef> columns,
                 std::span<const Value> values);
  void Encode(std::string_view key, const Folding& row);
  // A put is made where it stays, the last of ops_: a copy would read back what was just written,
  // by other pieces than it was written in, and wait until it is in the cache.
  Op& BeginPut(const TableInfo& table, std::string_view row_key, TimeUs time);
  // Of the last of ops_, which goes again where it has no value.
  void FinishPut(bool any_value, uint32_t set);
  void NotePut(const Op& op, uint32_t set);
  bool PutTwin(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
               std::span<const Value> values);
  int32_t FindTwin(const Op& op) const;
  void AddRecord(OpKind kind, std::string_view key, std::string_view value);
  void AddRow(OpKind kind, TableId table, std::string_view row_key);
  // Its place in tables_. Events mostly go to the same tables in the same order.
  size_t Touch(TableId table) {
    const size_t next = last_table_ + 1 < tables_.size() ? last_table_ + 1 : 0;
    if (next >= tables_.size() || tables_[next] != table) return TouchAnother(table);
    last_table_ = next;
    return next;
  }
  size_t TouchAnother(TableId table);

  const FieldCatalogue& known_fields_;
  ByteBuffer bytes_;
  std::map<std::string, Folding, std::less<>> folding_;  // By the key of the entry.
  std::vector<Op> ops_;
  // The values of the last entry that was put by a set, as they were given, while there were so
  // many ops: texts among them may be gone. From the first put to a latest table on: without one
  // nobody asks for them.
  std::vector<Value> last_values_;
  size_t last_ops_ = 0;
  bool has_latest_ = false;
  std::vector<DeleteSpec> deletes_;
  Trim trim_;
  std::vector<const ColumnSet*> new_sets_;  // Not stored yet when they were first used here.
  // New, or with types that are new, or newly spelled (any number but 0).
  FieldTypes fields_;
  MissedFields missed_;
  std::vector<TableId> tables_;
  std::vector<TimeRange> times_;
  size_t last_table_ = 0;  // That was touched: its place.
  std::vector<Layout> layouts_;
  std::vector<size_t> last_layouts_;  // By place in tables_: the end of its last one in layouts_.
  uint64_t adoption_ = UINT64_MAX;
  std::function<Status()> prepare_;
  std::shared_ptr<RowWatch> watch_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_LEVELDB_BATCH_H_
