#include "storage/leveldb/files/entry_run.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "config/values/processor.h"
#include "storage/big_endian_head.h"
#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/run_iterator.h"

namespace tallyd {
namespace {

// So many runs of about one size become one. Where one of them is larger than the others it waits
// for more, up to so many times as many.
constexpr size_t kMergedRuns = 8;
constexpr size_t kPatience = 4;
// A merge that takes longer would keep the commits of others waiting: this is a few milliseconds.
constexpr size_t kMergedEntries = 128u << 10;

// Of memory for the record of a group, which the next group takes again, unless it is very much.
constexpr size_t kLeastBytes = 256u << 10;
constexpr size_t kKeptBytes = 4u << 20;

constexpr size_t kWordBytes = sizeof(uint64_t);
// Of a key's next words, so many are looked at, until so many bits of them differ.
constexpr size_t kMostWords = 4;
constexpr int kEnoughBits = 32;

}  // namespace

Result<EntryRunPtr> EntryRun::Decode(std::string_view record) {
  const std::shared_ptr<EntryRun> run(new EntryRun);
  run->record_ = record;
  ByteReader in(record);
  std::string_view last;
  do {
    GroupEntry read;
    EntryKey key;
    if (!ReadGroupEntry(&in, &read) || !ParseEntryKey(read.key, &key) || read.key <= last) {
      return Error(ErrorCode::kCorruption, "the record of a group of entries is malformed");
    }
    run->Append(read.key.data(), read.key, read.value.size(), last);
    last = read.key;
  } while (!in.done());
  run->MoveToOwn();
  return EntryRunPtr(run);
}

void EntryRun::Append(const char* bytes, std::string_view key, size_t value_size,
                      std::string_view last) {
  entries_.push_back({bytes, static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value_size),
                      CodeBehind(key, CommonBytes(key, last))});
}

void EntryRun::MoveTo(std::shared_ptr<const char[]> record) {
  for (Entry& entry : entries_) entry.bytes = record.get() + (entry.bytes - record_.data());
  record_ = {record.get(), record_.size()};
  records_.assign(1, std::move(record));
}

void EntryRun::MoveToOwn() {
  const auto copy = std::make_shared_for_overwrite<char[]>(record_.size());
  std::ranges::copy(record_, copy.get());
  MoveTo(copy);
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
  for (all.Seek({}); all.Valid(); all.Next()) {
    const bool is_first = merged->entries_.empty();
    merged->entries_.push_back(all.entry());
    merged->entries_.back().code = is_first ? CodeBehind(all.entry().key(), 0) : all.code();
  }
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

// How many bytes at the beginning of their keys are the same, of which `known` are.
size_t EntrySorter::CommonOf(std::span<const KeyPlace> places, size_t known) const {
  const std::string_view front = entries_[places.front().entry].key;
  size_t common = front.size();
  for (const KeyPlace& place : places) {
    common = std::min(common, CommonBytes(entries_[place.entry].key, front, known));
  }
  return common;
}

// By what follows as a number, and then those that have it in common by what follows that.
void EntrySorter::Sort(std::span<KeyPlace> places, size_t depth) {
  const uint64_t differing = SetHeads(places, &depth);
  if (differing == 0) return;
  sorter_.Sort(places, differing);
  for (auto begin = places.begin(); begin != places.end();) {
    const auto differs = [&](const KeyPlace& place) { return place.head != begin->head; };
    const auto end = std::find_if(begin + 1, places.end(), differs);
    if (end - begin > 1) Sort({begin, end}, depth);
    begin = end;
  }
}

// Of the next word, or of several: their bits that differ, moved together, are taken as one number
// while it is short enough to be sorted by its digits. Keys of a group mostly differ in few bits.
uint64_t EntrySorter::SetHeads(std::span<KeyPlace> places, size_t* depth) {
  uint64_t differing = SetWords(places, *depth);
  while (differing == 0) {
    const size_t size = entries_[places.front().entry].key.size();
    if (size <= *depth + kWordBytes) return 0;
    *depth = std::max(*depth + kWordBytes, CommonOf(places, *depth));
    differing = SetWords(places, *depth);
  }
  *depth += kWordBytes;
  for (size_t i = 0; i < places.size(); ++i) places[i].head = words_[i];
  if (!kMovesBits) return differing;
  int bits = std::popcount(differing);
  uint64_t of_heads = differing;
  for (size_t words = 1; words < kMostWords && bits < kEnoughBits; ++words) {
    differing = SetWords(places, *depth);
    const int more = std::popcount(differing);
    if (bits + more > static_cast<int>(kMostDigitizedBits)) break;
    *depth += kWordBytes;
    if (more == 0) continue;
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t before = MoveBitsTogether(places[i].head, of_heads);
      places[i].head = before << more | MoveBitsTogether(words_[i], differing);
    }
    bits += more;
    of_heads = (uint64_t{1} << bits) - 1;
  }
  return of_heads;
}

// The bits in which these differ.
uint64_t EntrySorter::SetWords(std::span<const KeyPlace> places, size_t depth) {
  words_.resize(std::max(words_.size(), places.size()));
  uint64_t differing = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string_view key = entries_[places[i].entry].key;
    words_[i] = BigEndianHead(key.substr(std::min(depth, key.size())));
    differing |= words_[i] ^ words_[0];
  }
  return differing;
}

void EntrySorter::Clear() {
  entries_.clear();
  if (record_room_ <= kKeptBytes) return;
  record_.reset();
  record_room_ = 0;
}

std::shared_ptr<EntryRun> EntrySorter::TakeRun() {
  if (entries_.empty()) return nullptr;
  order_.clear();
  for (size_t i = 0; i < entries_.size(); ++i) order_.push_back({0, static_cast<uint32_t>(i)});
  Sort(order_, 0);
  size_t room = kGroupSlackBytes;
  for (const Entry& entry : entries_) {
    room += GroupEntryBytes(entry.key.size(), entry.value.size());
  }
  if (room > record_room_) {
    record_room_ = std::max(room, kLeastBytes);
    record_ = std::make_unique_for_overwrite<char[]>(record_room_);
  }
  std::shared_ptr<EntryRun> run(new EntryRun);
  run->entries_.reserve(entries_.size());
  char* to = record_.get();
  std::string_view last;
  for (const KeyPlace& place : order_) {
    const Entry& entry = entries_[place.entry];
    to = EncodeGroupEntry(to, {entry.key, entry.value});
    // By the keys as they came: a look at what was just written would wait for it.
    run->Append(to - entry.value.size() - entry.key.size(), entry.key, entry.value.size(), last);
    last = entry.key;
  }
  run->record_ = {record_.get(), static_cast<size_t>(to - record_.get())};
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

}  // namespace tallyd
