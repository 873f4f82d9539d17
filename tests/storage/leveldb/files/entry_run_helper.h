// Runs of entries of one table, as tests make them.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_FILES_ENTRY_RUN_HELPER_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_FILES_ENTRY_RUN_HELPER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/entry_run.h"

namespace tallyd {

inline std::string KeyOf(std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  char* const end = EncodeEntryKey(key.data(), 3, row, time);
  key.resize(static_cast<size_t>(end - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

inline EntryRunPtr RunOf(const std::vector<std::pair<std::string, std::string>>& entries) {
  EntrySorter sorter;
  for (const auto& [key, value] : entries) sorter.Add(key, value);
  std::shared_ptr<EntryRun> run = sorter.TakeRun();
  run->MoveToOwn();
  return run;
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_FILES_ENTRY_RUN_HELPER_H_
