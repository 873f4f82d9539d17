#include "storage/leveldb/files/head_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

Error Malformed() { return Error(ErrorCode::kCorruption, "a stored key is malformed"); }

bool ComesBefore(const HeadRows::Entry& a, const HeadRows::Entry& b) {
  return std::tie(a.time, a.sequence) > std::tie(b.time, b.sequence);
}

}  // namespace

HeadRows::HeadRows(const HeadEntries& entries, TableId table)
    : end_(TableEnd(KeySpace::kRows, table)), runs_(entries.runs.list()) {
  runs_.Seek(TablePrefix(KeySpace::kRows, table));
}

Result<bool> HeadRows::Next() {
  row_.clear();
  if (!runs_.Valid() || runs_.entry().key() >= end_) return false;
  EntryKey first;
  if (!ParseEntryKey(runs_.entry().key(), &first) ||
      !DecodeRowPrefix(first.row_prefix, &row_key_)) {
    return Malformed();
  }
  const Status taken = TakeRow(first.row_prefix);
  if (!taken) return taken.error();
  // Runs mostly follow each other in time.
  if (!std::ranges::is_sorted(row_, ComesBefore)) std::ranges::sort(row_, ComesBefore);
  return true;
}

Status HeadRows::TakeRow(std::string_view prefix) {
  do {
    taken_.clear();
    runs_.TakePrefix(prefix, &taken_);
    for (const EntryRun::Entry& taken : taken_) {
      EntryKey key;
      if (!ParseEntryKey(taken.key(), &key) || key.row_prefix != prefix) return Malformed();
      row_.push_back({key.time, key.sequence, taken.value()});
    }
  } while (runs_.Valid() && runs_.entry().key().starts_with(prefix));
  return {};
}

}  // namespace tallyd
