// RowStems: which rows a batch or a scan touched, by the *stem* of their keys (what stands before
// the key's time; the whole key where it has none). Gathered per batch, row by row, so that whoever
// counts them (service/heat) takes its locks once a batch.
//
//   RowStems stems;
//   stems.Add(table.id, key.substr(0, stem_size), {time, stem_size == key.size()});
//   for (const RowStems::OfTable& touched : stems.tables()) ...
//
// Rows that are read (AddRead) right behind one of the same stem take no further room.
// Nothing passed in needs to outlive the call. Not thread-safe.
#ifndef TALLYD_INGEST_MAP_ROW_STEMS_H_
#define TALLYD_INGEST_MAP_ROW_STEMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "storage/table_info.h"

namespace tallyd {

class RowStems {
 public:
  struct Rows {
    TimeUs time = 0;        // Of the event; 0 where rows are read.
    bool is_whole = false;  // The stem is the whole key.
    uint32_t count = 1;     // Rows with it.
  };
  struct Entry {
    uint32_t offset = 0;  // Of the stem, into OfTable::bytes.
    uint32_t size = 0;
    Rows rows;
  };
  struct OfTable {
    TableId table = 0;
    std::string bytes;
    std::vector<Entry> entries;

    std::string_view StemOf(const Entry& entry) const {
      return std::string_view(bytes).substr(entry.offset, entry.size);
    }
  };

  // Room for so many rows of each table; others may follow, or none.
  void Expect(size_t rows) { expected_ = rows; }
  void Add(TableId table, std::string_view stem, const Rows& rows) {
    OfTable& touched = Find(table);
    touched.entries.push_back(
        {static_cast<uint32_t>(touched.bytes.size()), static_cast<uint32_t>(stem.size()), rows});
    touched.bytes.append(stem);
  }
  // Of rows that are read one behind the other: the same stem again is but counted.
  void AddRead(TableId table, std::string_view stem, const Rows& rows) {
    OfTable& touched = Find(table);
    if (!touched.entries.empty() && touched.StemOf(touched.entries.back()) == stem) {
      touched.entries.back().rows.count += rows.count;
    } else {
      Add(table, stem, rows);
    }
  }
  void Append(const RowStems& other) {
    for (const OfTable& touched : other.tables_) {
      for (const Entry& entry : touched.entries) {
        Add(touched.table, touched.StemOf(entry), entry.rows);
      }
    }
  }
  void Clear() { tables_.clear(); }

  const std::vector<OfTable>& tables() const { return tables_; }

 private:
  static constexpr size_t kUsualStemBytes = 24;

  // Events mostly go to the same tables in the same order: the next one is tried first.
  OfTable& Find(TableId table) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      last_ = last_ + 1 < tables_.size() ? last_ + 1 : 0;
      if (tables_[last_].table == table) return tables_[last_];
    }
    tables_.push_back({table, {}, {}});
    tables_.back().entries.reserve(expected_);
    tables_.back().bytes.reserve(expected_ * kUsualStemBytes);
    last_ = tables_.size() - 1;
    return tables_.back();
  }

  std::vector<OfTable> tables_;
  size_t last_ = 0;
  size_t expected_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_ROW_STEMS_H_
