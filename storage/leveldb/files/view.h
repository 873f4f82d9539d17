// View: what holds the history's entries at one moment, and what hides some of them: the heads and
// block files, which together hold each entry once, and the deletes. Immutable once it is
// published; whoever reads holds the view, and with it the files, until done.
//
// A view is copied for every change, so its lists are shared between copies and replaced, never
// changed.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_
#define TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "storage/leveldb/catalogue/delete_ranges.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/disposer.h"
#include "storage/leveldb/files/head.h"

namespace tallyd {

struct View {
  using Files = std::vector<BlockFilePtr>;

  // Which opening of the files it is of; all views until the next one have the same.
  uint64_t opening = 0;
  std::vector<std::shared_ptr<Head>> heads;  // Oldest first; the last is the one written to.
  // By table; one without files, or without deletes, is in neither.
  std::map<TableId, std::shared_ptr<const Files>> files;
  std::map<TableId, std::shared_ptr<const DeleteList>> deletes;
  // Takes the files that nobody holds any more; outlives the view.
  Disposer* disposer = nullptr;

  const Files& FilesOf(TableId table) const;
  // Newest first, as they are likeliest to hide an entry.
  const DeleteList& DeletesOf(TableId table) const;
  DeleteList AllDeletes() const;  // Oldest first.
  uint64_t last_delete() const;   // The latest one's sequence; 0 if there is none.

  // `to` has what `from` had, or what is left of it; the files of `from` go.
  void Replace(const Files& from, const Files& to);
  // REQUIRES: newer than all before them, in order.
  void AddDeletes(const DeleteList& added);
  void RemoveDelete(const DeleteRange& removed);
};

using ViewPtr = std::shared_ptr<const View>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_
