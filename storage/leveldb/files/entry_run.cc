#include "storage/leveldb/files/entry_run.h"

#include <algorithm>
#include <cstring>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

// So many runs of about one size become one. Where one of them is larger than the others it waits
// for more, up to so many times as many.
constexpr size_t kMergedRuns = 8;
constexpr size_t kPatience = 4;
// A merge that takes longer would keep the commits of others waiting: this is a few milliseconds.
constexpr size_t kMergedEntries = 128u << 10;

// How many of the first bytes are the same, `most` at most. REQUIRES: both have as many.
size_t CommonBytes(std::string_view a, std::string_view b, size_t most) {
  if (std::memcmp(a.data(), b.data(), most) == 0) return most;
  size_t common = 0;
  while (a[common] == b[common]) ++common;
  return common;
}

}  // namespace

Result<EntryRunPtr> EntryRun::Decode(std::string_view record) {
  const std::shared_ptr<EntryRun> run(new EntryRun);
  const auto bytes = std::make_shared_for_overwrite<char[]>(record.size());
  std::ranges::copy(record, bytes.get());
  run->Own(bytes, record.size());
  ByteReader in(run->record());
  std::string_view last;
  do {
    GroupEntry read;
    EntryKey key;
    if (!ReadGroupEntry(&in, &read) || !ParseEntryKey(read.key, &key) || read.key <= last) {
      return Error(ErrorCode::kCorruption, "the record of a group of entries is malformed");
    }
    run->entries_.push_back({read.key.data(), static_cast<uint32_t>(read.key.size()),
                             static_cast<uint32_t>(read.value.size())});
    last = read.key;
  } while (!in.done());
  return EntryRunPtr(run);
}

void EntryRun::Own(std::shared_ptr<const char[]> record, size_t size) {
  record_ = {record.get(), size};
  records_.push_back(std::move(record));
}

EntryRunPtr EntryRun::Merge(std::span<const EntryRunPtr> runs) {
  const std::shared_ptr<EntryRun> merged(new EntryRun);
  size_t entries = 0;
  for (const EntryRunPtr& run : runs) {
    entries += run->entries_.size();
    merged->records_.insert(merged->records_.end(), run->records_.begin(), run->records_.end());
  }
  merged->entries_.reserve(entries);
  RunIterator all(runs);
  for (all.Seek({}); all.Valid(); all.Next()) merged->entries_.push_back(all.entry());
  return merged;
}

size_t EntryRun::LowerBound(std::string_view key, size_t from) const {
  const auto comes_before = [&](size_t at) { return entries_[at].key() < key; };
  size_t begin = 0;
  size_t end = from;
  if (from < entries_.size() && comes_before(from)) {
    size_t step = 1;
    for (begin = from + 1; begin + step < entries_.size() && comes_before(begin + step);
         step *= 2) {
      begin += step + 1;
    }
    end = std::min(begin + step, entries_.size());
  }
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (comes_before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void EntrySorter::Sort() {
  const std::string_view first = entries_.front().key;
  size_t common = first.size();
  for (const Entry& entry : entries_) {
    common = CommonBytes(entry.key, first, std::min(common, entry.key.size()));
  }
  order_.clear();
  for (const Entry& entry : entries_) {
    order_.push_back(
        {BigEndianHead(entry.key.substr(common)), static_cast<uint32_t>(order_.size())});
  }
  // Of batches that are sorted already it makes the fewest comparisons.
  std::stable_sort(order_.begin(), order_.end(), [&](const Place& a, const Place& b) {
    return a.head != b.head ? a.head < b.head : entries_[a.entry].key < entries_[b.entry].key;
  });
}

EntryRunPtr EntrySorter::TakeRun() {
  if (entries_.empty()) return nullptr;
  Sort();
  size_t room = kGroupSlackBytes;
  for (const Entry& entry : entries_) {
    room += GroupEntryBytes(entry.key.size(), entry.value.size());
  }
  const auto record = std::make_shared_for_overwrite<char[]>(room);
  const std::shared_ptr<EntryRun> run(new EntryRun);
  run->entries_.reserve(entries_.size());
  char* to = record.get();
  for (const Place& place : order_) {
    const Entry& entry = entries_[place.entry];
    to = EncodeGroupEntry(to, {entry.key, entry.value});
    run->entries_.push_back({to - entry.value.size() - entry.key.size(),
                             static_cast<uint32_t>(entry.key.size()),
                             static_cast<uint32_t>(entry.value.size())});
  }
  run->Own(record, static_cast<size_t>(to - record.get()));
  entries_.clear();
  return run;
}

EntryRuns EntryRuns::With(EntryRunPtr run) const {
  EntryRuns runs(*this);
  std::vector<EntryRunPtr>& list = runs.runs_;
  list.push_back(std::move(run));
  // What is merged leaves its size behind, so that no entry is copied more than once for each size.
  for (size_t size = kMergedRuns, begin = list.size();; size *= kMergedRuns) {
    size_t entries = 0;
    for (begin = list.size(); begin > 0 && list[begin - 1]->entries().size() < size; --begin) {
      entries += list[begin - 1]->entries().size();
    }
    if (entries > kMergedEntries) return runs;
    const size_t few = list.size() - begin;
    if (few < kMergedRuns || (entries < size && few < kPatience * kMergedRuns)) {
      if (begin == 0) return runs;
      continue;
    }
    const EntryRunPtr merged = EntryRun::Merge(std::span(list).subspan(begin));
    list.resize(begin);
    list.push_back(merged);
  }
}

RunIterator::RunIterator(std::span<const EntryRunPtr> runs) {
  if (runs.empty()) return;
  const std::string_view first = runs.front()->entries().front().key();
  common_ = first.size();
  for (const EntryRunPtr& run : runs) {
    cursors_.push_back({run.get(), run->entries().size(), 0});
    for (const EntryRun::Entry* entry : {&run->entries().front(), &run->entries().back()}) {
      common_ = CommonBytes(entry->key(), first, std::min<size_t>(common_, entry->key_size));
    }
  }
}

void RunIterator::ReadHead(Cursor* cursor) const {
  if (cursor->valid()) cursor->head = BigEndianHead(cursor->entry().key().substr(common_));
}

void RunIterator::MakeHeap() {
  std::vector<Cursor*> cursors;
  for (Cursor& cursor : cursors_) {
    ReadHead(&cursor);
    cursors.push_back(&cursor);
  }
  heap_.Assign(std::move(cursors));
}

void RunIterator::Seek(std::string_view key) {
  for (Cursor& cursor : cursors_) {
    cursor.at = key.empty() ? 0 : cursor.run->LowerBound(key, cursor.at);
    for (size_t ahead = 0; ahead < kFetchedAhead; ++ahead) cursor.Fetch(ahead);
  }
  MakeHeap();
}

void RunIterator::SeekToEnd() {
  for (Cursor& cursor : cursors_) cursor.at = cursor.run->entries().size();
  heap_.Clear();
}

void RunIterator::Next() {
  Cursor* const moved = heap_.top();
  ++moved->at;
  moved->Fetch(kFetchedAhead);
  ReadHead(moved);
  heap_.TopMoved();
}

void RunIterator::TakePrefix(std::string_view prefix, std::vector<EntryRun::Entry>* taken) {
  Cursor* const moved = heap_.top();
  do {
    taken->push_back(moved->entry());
    ++moved->at;
    moved->Fetch(kFetchedAhead);
  } while (moved->valid() && moved->entry().key().starts_with(prefix));
  ReadHead(moved);
  heap_.TopMoved();
}

bool RunIterator::Prev() {
  Cursor* last = nullptr;
  for (Cursor& cursor : cursors_) {
    if (cursor.at == 0) continue;
    const auto before = [](const Cursor& of) { return of.run->entries()[of.at - 1].key(); };
    if (last == nullptr || before(cursor) > before(*last)) last = &cursor;
  }
  if (last == nullptr) return false;
  --last->at;
  MakeHeap();
  return true;
}

}  // namespace tallyd
