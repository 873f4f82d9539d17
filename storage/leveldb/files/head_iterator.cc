#include "storage/leveldb/files/head_iterator.h"

#include <string>
#include <string_view>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

std::string BeginOf(KeySpace space) { return std::string(1, static_cast<char>(space)); }
std::string EndOf(KeySpace space) { return PrefixEnd(BeginOf(space)); }

bool IsGroup(const leveldb::Slice& key) {
  return !key.empty() && static_cast<KeySpace>(key[0]) == KeySpace::kGroups;
}

}  // namespace

HeadIterator::HeadIterator(std::unique_ptr<leveldb::Iterator> records,
                           std::shared_ptr<const HeadEntries> entries)
    : records_(std::move(records)), entries_(std::move(entries)), runs_(entries_->runs.list()) {}

void HeadIterator::Choose() {
  const bool has_record = records_->Valid();
  from_ = has_record ? From::kRecords : From::kNowhere;
  if (!runs_.Valid()) return;
  if (!has_record) {
    from_ = records_->status().ok() ? From::kRuns : From::kNowhere;
  } else if (runs_.entry().key() < ToView(records_->key())) {
    from_ = From::kRuns;
  }
}

// Nobody passes by the entries of a head that cannot be read: between `low` and the key at hand, or
// the end, or the other way round.
void HeadIterator::StopAtDamage(std::string_view low, std::optional<std::string_view> high) {
  if (low >= EndOf(KeySpace::kRows) || (high && *high < BeginOf(KeySpace::kRows))) return;
  met_damage_ = true;
  from_ = From::kNowhere;
}

void HeadIterator::SkipGroups() {
  if (records_->Valid() && IsGroup(records_->key())) records_->Seek(EndOf(KeySpace::kGroups));
}

void HeadIterator::SeekToFirst() { Seek({}); }

void HeadIterator::SeekToLast() {
  met_damage_ = false;
  runs_.SeekToEnd();
  records_->SeekToLast();
  if (records_->Valid()) records_->Next();
  StepBack();
  if (!is_whole()) StopAtDamage(Valid() ? ToView(key()) : std::string_view(), std::nullopt);
}

void HeadIterator::Seek(const leveldb::Slice& target) {
  met_damage_ = false;
  records_->Seek(target);
  SkipGroups();
  if (ToView(target) < EndOf(KeySpace::kRows)) {
    runs_.Seek(ToView(target));
  } else {
    runs_.SeekToEnd();
  }
  Choose();
  if (!is_whole()) StopAtDamage(ToView(target), HighKey());
}

void HeadIterator::Next() {
  const std::string before = is_whole() ? std::string() : key().ToString();
  if (from_ == From::kRuns) {
    runs_.Next();
  } else {
    records_->Next();
    SkipGroups();
  }
  Choose();
  if (!is_whole()) StopAtDamage(before, HighKey());
}

void HeadIterator::Prev() {
  const std::string before = is_whole() ? std::string() : key().ToString();
  StepBack();
  if (!is_whole()) StopAtDamage(Valid() ? ToView(key()) : std::string_view(), before);
}

std::optional<std::string_view> HeadIterator::HighKey() const {
  return Valid() ? std::optional(ToView(key())) : std::nullopt;
}

void HeadIterator::StepBack() {
  const bool has_run = runs_.Prev();
  const bool has_record = StepBackInRecords();
  if (!records_->Valid() && !records_->status().ok()) {
    from_ = From::kNowhere;
  } else if (has_run && (!has_record || runs_.entry().key() > ToView(records_->key()))) {
    if (has_record) {
      records_->Next();
      SkipGroups();
    }
    from_ = From::kRuns;
  } else {
    if (has_run) runs_.Next();
    from_ = has_record ? From::kRecords : From::kNowhere;
  }
}

// False, and they stay, where there is none before.
bool HeadIterator::StepBackInRecords() {
  records_->Valid() ? records_->Prev() : records_->SeekToLast();
  if (records_->Valid() && IsGroup(records_->key())) {
    records_->Seek(BeginOf(KeySpace::kGroups));
    if (records_->Valid()) records_->Prev();
  }
  if (records_->Valid() || !records_->status().ok()) return records_->Valid();
  records_->SeekToFirst();
  SkipGroups();
  return false;
}

leveldb::Slice HeadIterator::key() const {
  return from_ == From::kRuns ? ToSlice(runs_.entry().key()) : records_->key();
}

leveldb::Slice HeadIterator::value() const {
  return from_ == From::kRuns ? ToSlice(runs_.entry().value()) : records_->value();
}

leveldb::Status HeadIterator::status() const {
  return met_damage_ ? entries_->damage : records_->status();
}

}  // namespace tallyd
