// What an EntrySource promises, as a sorted list: a source of the same entries must do as it does.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_READ_SOURCE_MODEL_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_READ_SOURCE_MODEL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

struct SourceEntry {
  std::string row;
  TimeUs time = 0;
  uint64_t sequence = 0;
  int64_t value = 0;
};

// Rows of few bytes, so that they are prefixes of each other and hold what is escaped; of some rows
// many entries, of some times several.
inline std::vector<SourceEntry> RandomSourceEntries(std::mt19937_64& random, size_t most) {
  const std::string letters("a\0\xff", 3);
  std::vector<SourceEntry> entries;
  for (uint64_t count = 1 + random() % most; count > 0; --count) {
    std::string row(1 + random() % 2, ' ');
    for (char& c : row) c = letters[random() % letters.size()];
    const auto time = static_cast<TimeUs>(1000 + random() % 40);
    entries.push_back({row, time, count, static_cast<int64_t>(random() % 1000)});
  }
  std::sort(entries.begin(), entries.end(), [](const SourceEntry& a, const SourceEntry& b) {
    if (a.row != b.row) return a.row < b.row;
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  });
  return entries;
}

class SourceModel {
 public:
  explicit SourceModel(std::vector<SourceEntry> entries)
      : entries_(std::move(entries)), at_(entries_.size()) {}  // Nowhere yet, as a source.

  bool valid() const { return at_ < entries_.size(); }
  const SourceEntry& entry() const { return entries_[at_]; }

  void SeekRow(const std::string& key) { at_ = FirstAtOrAfter(key); }
  void SeekRowBefore(const std::string& key) {
    const size_t end = key.empty() ? entries_.size() : FirstAtOrAfter(key);
    at_ = end == 0 ? entries_.size() : FirstAtOrAfter(entries_[end - 1].row);
  }
  void Next() { ++at_; }
  void SkipNewer(TimeUs below) {
    const std::string row = entry().row;
    while (valid() && entry().row == row && entry().time >= below) ++at_;
  }

 private:
  size_t FirstAtOrAfter(const std::string& key) const {
    size_t at = 0;
    while (at < entries_.size() && entries_[at].row < key) ++at;
    return at;
  }
  const std::vector<SourceEntry> entries_;
  size_t at_;
};

inline void ExpectSame(const SourceModel& model, EntrySource* source) {
  ASSERT_EQ(source->valid(), model.valid());
  if (!model.valid()) return;
  ASSERT_EQ(source->row_key(), model.entry().row);
  ASSERT_EQ(source->time(), model.entry().time);
  ASSERT_EQ(source->sequence(), model.entry().sequence);
  WholeEntry whole;
  ASSERT_TRUE(source->Read(&whole));
  ASSERT_EQ(whole.row_key, model.entry().row);
  ASSERT_EQ(whole.values, std::vector{Value::Int(model.entry().value)});
}

// Moves both about, and compares them at each place.
inline void ExpectMovesAsModel(std::mt19937_64& random, const std::vector<SourceEntry>& entries,
                               EntrySource* source) {
  SourceModel model(entries);
  const std::string letters("a\0\xff\x01", 4);
  for (int step = 0; step < 200 && !::testing::Test::HasFatalFailure(); ++step) {
    std::string key(random() % 3, ' ');
    for (char& c : key) c = letters[random() % letters.size()];
    const uint64_t move = model.valid() ? random() % 5 : random() % 2;
    const auto below = static_cast<TimeUs>(1000 + random() % 41);
    if (move == 0) {
      model.SeekRow(key);
      ASSERT_TRUE(source->SeekRow(key));
    } else if (move == 1) {
      model.SeekRowBefore(key);
      ASSERT_TRUE(source->SeekRowBefore(key));
    } else if (move == 2) {
      model.SkipNewer(below);
      ASSERT_TRUE(source->SkipNewer(below));
    } else {
      model.Next();
      ASSERT_TRUE(source->Next());
    }
    ExpectSame(model, source);
  }
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_READ_SOURCE_MODEL_H_
