#include "storage/leveldb/files/view.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tallyd {
namespace {

template <class List>
const List& ListOf(const std::map<TableId, std::shared_ptr<const List>>& lists, TableId table) {
  static const List none;
  const auto found = lists.find(table);
  return found == lists.end() ? none : *found->second;
}

template <class List>
void SetList(std::map<TableId, std::shared_ptr<const List>>* lists, TableId table, List list) {
  if (list.empty()) {
    lists->erase(table);
  } else {
    (*lists)[table] = std::make_shared<const List>(std::move(list));
  }
}

}  // namespace

const View::Files& View::FilesOf(TableId table) const { return ListOf(files, table); }

const DeleteList& View::DeletesOf(TableId table) const { return ListOf(deletes, table); }

DeleteList View::AllDeletes() const {
  DeleteList all;
  for (const auto& [table, list] : deletes) all.insert(all.end(), list->begin(), list->end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  return all;
}

uint64_t View::last_delete() const {
  uint64_t last = 0;
  for (const auto& [table, list] : deletes) last = std::max(last, list->front()->sequence);
  return last;
}

void View::Replace(const Files& from, const Files& to) {
  std::set<uint64_t> gone;  // Numbers are of files of any table.
  std::map<TableId, Files> changed;
  for (const BlockFilePtr& old : from) {
    changed.try_emplace(old->info().table);
    gone.insert(old->info().number);
    old->Drop();
  }
  for (const BlockFilePtr& file : to) changed.try_emplace(file->info().table);
  for (auto& [table, list] : changed) {
    std::ranges::copy_if(FilesOf(table), std::back_inserter(list), [&](const BlockFilePtr& file) {
      return !gone.contains(file->info().number);
    });
  }
  for (const BlockFilePtr& file : to) changed[file->info().table].push_back(disposer->Watch(file));
  for (auto& [table, list] : changed) SetList(&files, table, std::move(list));
}

void View::AddDeletes(const DeleteList& added) {
  std::map<TableId, DeleteList> changed;
  for (auto range = added.rbegin(); range != added.rend(); ++range) {
    changed[(*range)->table].push_back(*range);
  }
  for (auto& [table, list] : changed) {
    const DeleteList& before = DeletesOf(table);
    list.insert(list.end(), before.begin(), before.end());
    SetList(&deletes, table, std::move(list));
  }
}

void View::RemoveDelete(const DeleteRange& removed) {
  DeleteList list = DeletesOf(removed.table);
  std::erase_if(list, [&](const auto& range) { return range->sequence == removed.sequence; });
  SetList(&deletes, removed.table, std::move(list));
}

}  // namespace tallyd
