#include "storage/leveldb/read/column_witnesses.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/latest/entry_cells.h"

namespace tallyd {
namespace {

constexpr size_t kRowsAtOnce = 512;

// What one file has of what is looked for: `found` is told each column's place.
Status SearchFile(const BlockFile& file, ColumnSearch* search,
                  const std::function<void(size_t)>& found) {
  const Result<BlockIndexPtr> index = file.Index();
  if (!index) return index.error();
  ColumnBlock block;
  const BlockSchema* last = nullptr;
  std::shared_ptr<const BlockSchema> schema;
  for (const BlockPlace& place : (*index)->blocks()) {
    if (search->done()) return {};
    const Result<BytesPtr> head = file.ReadPart(place, 0, place.head_size, 0, BlockReads::kOnce);
    if (!head) return head.error();
    const Status opened = block.Open(std::string_view(**head).substr(0, place.head_size));
    if (!opened) return file.Damaged(opened.error());
    schema = block.schema();
    if (std::exchange(last, schema.get()) == schema.get()) continue;
    for (const Column& column : schema->columns) {
      const int64_t at = search->Find(column.ref());
      if (at >= 0) found(static_cast<size_t>(at));
    }
  }
  return {};
}

}  // namespace

ColumnSearch::ColumnSearch(std::span<const Column> columns) : found_(columns.size()) {
  for (size_t i = 0; i < columns.size(); ++i) left_[KeyOf(columns[i].ref())] = i;
}

std::string ColumnSearch::KeyOf(const ColumnRef& column) {
  std::string key(reinterpret_cast<const char*>(&column.family), sizeof(column.family));
  return key.append(column.qualifier);
}

int64_t ColumnSearch::Find(const ColumnRef& column) {
  const auto found = left_.find(KeyOf(column));
  if (found == left_.end()) return -1;
  const size_t at = found->second;
  found_[at] = true;
  left_.erase(found);
  return static_cast<int64_t>(at);
}

Result<std::vector<bool>> ColumnWitnesses::Find(TableId table, const View::Files& files,
                                                std::span<const Column> columns) {
  const std::lock_guard lock(mutex_);
  auto& witnesses = files_[table];
  std::set<uint64_t> there;
  for (const BlockFilePtr& file : files) there.insert(file->info().number);
  std::erase_if(witnesses, [&](const auto& each) { return !there.contains(each.second); });
  ColumnSearch search(columns);
  for (const Column& column : columns) {
    if (witnesses.contains({column.family, column.qualifier})) search.Find(column.ref());
  }
  View::Files newest_first = files;
  std::ranges::sort(newest_first, std::greater<>(),
                    [](const BlockFilePtr& file) { return file->info().number; });
  for (const BlockFilePtr& file : newest_first) {
    if (search.done()) break;
    const Status searched = SearchFile(*file, &search, [&](size_t at) {
      witnesses[{columns[at].family, columns[at].qualifier}] = file->info().number;
    });
    if (!searched) return searched.error();
  }
  return search.found();
}

Result<std::vector<bool>> FindInLatest(const LatestTables& latest, const ColumnRegistry& sets,
                                       TableId table, std::span<const Column> columns) {
  ColumnSearch search(columns);
  LatestCopy copy;
  KeyRange left;
  EntryCells cells;
  std::vector<Layer> layers;
  for (bool more = true; more && !search.done();) {
    more = latest.Read(table, left, false, kRowsAtOnce, &copy);
    for (const auto& [key, row] : copy.rows()) {
      if (!DecodeLatest(row, &layers)) {
        return Error(ErrorCode::kCorruption, "a row of a latest table is malformed");
      }
      for (const Layer& layer : layers) {
        if (!DecodeEntry(sets, table, layer.entry, &cells)) {
          return Error(ErrorCode::kCorruption, "a row of a latest table is malformed");
        }
        for (size_t i = 0; i < cells.columns.size(); ++i) {
          if (!cells.values[i].is_null()) search.Find(cells.columns[i]);
        }
      }
    }
    if (more) left.start = std::string(copy.rows().back().first) + '\0';
  }
  return search.found();
}

}  // namespace tallyd
