// RemoteBatch: the batch of a RemoteDouble, as calls to a service would be made of it: notes that
// come first, changes of single rows, deletes of ranges between them, notes that come behind.
#ifndef TALLYD_TESTS_STORAGE_REMOTE_BATCH_H_
#define TALLYD_TESTS_STORAGE_REMOTE_BATCH_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/batch.h"

namespace tallyd {

class RemoteBatch final : public Batch {
 public:
  using Change = std::function<void(Batch*)>;  // Made to the batch that the service has of it.
  // The changes of one row, or a delete.
  struct Entry {
    std::shared_ptr<const TableInfo> table;
    std::string row_key;
    bool is_delete = false;
    std::vector<Change> changes;
  };

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override;
  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override;
  void Delete(const TableInfo& table, const DeleteSpec& what) override;
  void AddField(std::string_view stream, std::string_view field, uint8_t type_bits) override;
  void NoteSpelling(std::string_view stream, std::string_view field) override;
  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  void PutMemo(std::string_view key, std::string_view value, NoteOrder order) override;
  void DropMemo(std::string_view key) override;
  bool empty() const override { return entries_.empty() && fields_.empty() && memos_.empty(); }

  // The notes that come before the rows, and those that come behind.
  std::vector<Change> First() const;
  std::vector<Change> Behind() const;
  // In their order; a row has one between two deletes.
  std::vector<Entry>& entries() { return entries_; }

 private:
  struct MemoChange {
    NoteOrder order = NoteOrder::kAfter;
    Change change;
  };

  std::shared_ptr<const TableInfo> Keep(const TableInfo& table);

  std::map<TableId, std::shared_ptr<const TableInfo>> tables_;
  std::vector<Entry> entries_;
  std::map<std::pair<TableId, std::string>, size_t> rows_;  // Since the last delete, by place.
  std::vector<Change> fields_;
  std::map<std::string, MemoChange> memos_;  // By key: the last one counts.
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_REMOTE_BATCH_H_
