// HeadSource: the entries of one table in a head.
#ifndef TALLYD_STORAGE_LEVELDB_READ_HEAD_SOURCE_H_
#define TALLYD_STORAGE_LEVELDB_READ_HEAD_SOURCE_H_

#include <leveldb/iterator.h>

#include <string>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

class HeadSource final : public EntrySource {
 public:
  // `sets` outlives the source.
  HeadSource(TableId table, const ColumnRegistry& sets);
  // The iterator may be another after each Access.
  void Use(leveldb::Iterator* iterator) { it_ = iterator; }

  Status SeekRow(std::string_view key) override;
  Status SeekRowBefore(std::string_view key) override;
  Status Next() override;
  Status SkipNewer(TimeUs below) override;
  Status AddTo(RowAssembler* row) override;
  Status Read(WholeEntry* entry) override;

 private:
  Status Load();

  const TableId table_;
  const ColumnRegistry& sets_;
  const std::string begin_;  // The table's entries.
  const std::string end_;
  leveldb::Iterator* it_ = nullptr;
  const ColumnSet* last_set_ = nullptr;  // That Read met.
  std::string row_prefix_;               // Of the entry at hand.
  std::string unescaped_;                // Its row key, where that is not in the prefix as it is.
  std::string target_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_HEAD_SOURCE_H_
