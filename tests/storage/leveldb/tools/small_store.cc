#include "tests/storage/leveldb/tools/small_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace tallyd {

Schema SmallStore::SchemaOf() {
  return MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)});
}

void SmallStore::WriteEvent(const std::string& machine, TimeUs time, int64_t value,
                            const std::string& text) {
  auto batch = NewBatch();
  std::vector<TestCell> cells{{"A", "value", Value::Int(value)}};
  if (!text.empty()) cells.push_back({"B", "text", Value::String(text)});
  Put(batch.get(), "H", machine, time, cells);
  Put(batch.get(), "L", machine, time, cells);
  ASSERT_TRUE(Commit(std::move(batch)));
}

void SmallStore::Make() {
  config().seal_window_us = 100;
  Open();
  ASSERT_TRUE(Adopt(SchemaOf()));
  for (TimeUs time = 0; time < 8; ++time) {
    WriteEvent("m" + std::to_string(time % 3), 40 * time, 1000 + time, "sealed");
  }
  ASSERT_TRUE(store().Settle());
  // What base's log holds becomes a table file.
  Reopen();
  for (TimeUs time = 8; time < 12; ++time) {
    WriteEvent("m" + std::to_string(time % 4), 40 * time, 1000 + time);
    // Nor is all of the head in its log.
    if (time == 9) Reopen();
  }
  auto batch = NewBatch();
  Put(batch.get(), "H", "only in the head", 7, {{"B", "other", Value::Double(0.25)}});
  ASSERT_TRUE(Commit(std::move(batch)));
  history = Read("H");
  latest = Read("L");
  Close();
}

std::map<std::string, std::string> FilesBelow(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string name = std::filesystem::relative(entry.path(), directory);
    if (entry.is_directory()) {
      files[name + "/"];
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    files[name].assign(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

void WriteFiles(const std::map<std::string, std::string>& files, const std::string& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const auto& [name, bytes] : files) {
    const std::string path = directory + "/" + name;
    if (name.ends_with('/')) {
      std::filesystem::create_directories(path);
    } else {
      std::ofstream(path, std::ios::binary) << bytes;
    }
  }
}

}  // namespace tallyd
