// View: which heads and block files hold the history's entries at one moment. Together they hold
// each entry once. Immutable; whoever reads holds the view, and with it the files, until done.
#ifndef TALLYD_STORAGE_LEVELDB_VIEW_H_
#define TALLYD_STORAGE_LEVELDB_VIEW_H_

#include <memory>
#include <vector>

#include "storage/leveldb/block_file.h"
#include "storage/leveldb/head.h"

namespace tallyd {

struct View {
  std::vector<std::shared_ptr<Head>> heads;  // Oldest first; the last is the one written to.
  BlockFileMap files;

  const std::vector<BlockFilePtr>& FilesOf(TableId table) const {
    static const std::vector<BlockFilePtr> none;
    const auto found = files.find(table);
    return found == files.end() ? none : found->second;
  }
};

using ViewPtr = std::shared_ptr<const View>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_VIEW_H_
