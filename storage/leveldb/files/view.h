// View: which heads and block files hold the history's entries at one moment. Together they hold
// each entry once. Immutable; whoever reads holds the view, and with it the files, until done.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_
#define TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_

#include <memory>
#include <vector>

#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/head.h"

namespace tallyd {

struct View {
  std::vector<std::shared_ptr<Head>> heads;  // Oldest first; the last is the one written to.
  BlockFileMap files;

  const std::vector<BlockFilePtr>& FilesOf(TableId table) const {
    static const std::vector<BlockFilePtr> none;
    const auto found = files.find(table);
    return found == files.end() ? none : found->second;
  }

  // `to` has what `from` had, or what is left of it; the files of `from` go.
  void Replace(const std::vector<BlockFilePtr>& from, const std::vector<BlockFilePtr>& to) {
    for (const BlockFilePtr& old : from) {
      std::erase_if(files[old->info().table], [&](const BlockFilePtr& file) {
        return file->info().number == old->info().number;
      });
      old->Drop();
    }
    for (const BlockFilePtr& file : to) files[file->info().table].push_back(file);
  }
};

using ViewPtr = std::shared_ptr<const View>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_VIEW_H_
