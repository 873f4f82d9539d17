// SourceMerge: the entries of several sources as one sequence, in the order of the store (row keys
// ascending, of one row the newest first, of one time the later commit first). The one k-way merge:
// scans read rows through it, sealing and merging of files read entries. A binary heap, so that a
// step costs the logarithm of the sources, and nothing but a look at two neighbours while one
// source has the next entries to itself. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_READ_SOURCE_MERGE_H_
#define TALLYD_STORAGE_LEVELDB_READ_SOURCE_MERGE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

class SourceMerge {
 public:
  // The sources stand at their first entries and outlive the merge; those at their ends are left
  // out.
  void Assign(const std::vector<EntrySource*>& sources);

  // The source with the next entry; null at the end.
  EntrySource* top() const { return heap_.empty() ? nullptr : heap_.front(); }
  // After the caller moved top().
  void TopMoved();
  // Moves top() to its next entry.
  Status Next() {
    const Status moved = top()->Next();
    TopMoved();
    return moved;
  }

  // The first row of all other sources: rows of top() before it are in top() alone. Nothing if
  // there is no other. A view until any source moves. REQUIRES: top() is not null.
  std::optional<std::string_view> NextRowOfOthers() const;

 private:
  std::vector<EntrySource*> heap_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_SOURCE_MERGE_H_
