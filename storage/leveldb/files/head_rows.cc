#include "storage/leveldb/files/head_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "config/values/prefetch.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

Error Malformed() { return Error(ErrorCode::kCorruption, "a stored key is malformed"); }

constexpr size_t kFetchedAtOnce = 32;
constexpr size_t kFetchedBytes = 4 * kCacheLineBytes;

// What is read first of an entry: the end of its key, and its value. REQUIRES: the key of an entry.
void Fetch(const EntryRun::Entry& entry) {
  const char* const begin = entry.bytes + entry.key_size - kEntrySuffixBytes;
  Prefetch(begin, std::min(kEntrySuffixBytes + entry.value_size, kFetchedBytes));
}

bool IsNewer(const HeadRows::Entry& a, const HeadRows::Entry& b) {
  return std::tie(a.time, a.sequence) > std::tie(b.time, b.sequence);
}

}  // namespace

HeadRows::HeadRows(const HeadEntries& entries, TableId table)
    : end_(TableEnd(KeySpace::kRows, table)), runs_(entries.runs.list()) {
  runs_.Seek(TablePrefix(KeySpace::kRows, table));
}

// A key of another table has nothing in common with the one before it, as its code tells.
bool HeadRows::IsAtEnd() const {
  if (!runs_.Valid()) return true;
  return (!begun_ || CommonByCode(runs_.code()) == 0) && runs_.entry().key() >= end_;
}

Result<bool> HeadRows::Next() {
  row_.clear();
  if (IsAtEnd()) return false;
  begun_ = true;
  const EntryRun::Entry& entry = runs_.entry();
  EntryKey first;
  if (!ParseEntryKey(entry.key(), &first) || !ReadRowKey(first.row_prefix)) return Malformed();
  row_.push_back({first.time, first.sequence, entry.value()});
  runs_.Next();
  if (!runs_.Valid() || !runs_.Continues(first.row_prefix)) return true;
  if (!TakeOthers(first.row_prefix)) return Malformed();
  // Runs mostly follow each other in time.
  if (!std::ranges::is_sorted(row_, IsNewer)) std::ranges::sort(row_, IsNewer);
  return true;
}

bool HeadRows::ReadRowKey(std::string_view prefix) {
  row_key_ = UnescapedRow(prefix);
  if (!row_key_.empty()) return true;
  const bool read = DecodeRowPrefix(prefix, &unescaped_);
  row_key_ = unescaped_;
  return read;
}

bool HeadRows::TakeOthers(std::string_view prefix) {
  bool sound = true;
  fetched_.clear();
  const auto read = [&] {
    for (const EntryRun::Entry* entry : fetched_) {
      EntryKey key;
      sound = sound && ParseEntryKey(entry->key(), &key) && key.row_prefix.size() == prefix.size();
      row_.push_back({key.time, key.sequence, entry->value()});
    }
    fetched_.clear();
  };
  do {
    runs_.TakePrefix(prefix, [&](const EntryRun::Entry& entry) {
      Fetch(entry);
      fetched_.push_back(&entry);
      if (fetched_.size() == kFetchedAtOnce) read();
    });
  } while (runs_.Valid() && runs_.Continues(prefix));
  read();
  return sound;
}

}  // namespace tallyd
