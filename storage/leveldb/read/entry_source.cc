#include "storage/leveldb/read/entry_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

Error Malformed(std::string_view row_key) {
  return Error(ErrorCode::kCorruption,
               fmt::format("a stored entry of row \"{}\" is malformed", row_key));
}

}  // namespace

std::optional<std::string_view> SourceMerge::NextRowOfOthers() const {
  const EntrySource* const left = heap_.child(0);
  const EntrySource* const right = heap_.child(1);
  if (left == nullptr) return std::nullopt;
  return right == nullptr ? left->row_key() : std::min(left->row_key(), right->row_key());
}

const EntrySource* SourceMerge::NextOfOthers() const {
  const EntrySource* const left = heap_.child(0);
  const EntrySource* const right = heap_.child(1);
  if (left == nullptr || right == nullptr) return left;
  return right->Precedes(*left) ? right : left;
}

HeadSource::HeadSource(TableId table, const ColumnRegistry& sets)
    : reader_(table, sets),
      begin_(TablePrefix(KeySpace::kRows, table)),
      end_(TableEnd(KeySpace::kRows, table)) {}

// Takes up the entry at which the iterator stands.
Status HeadSource::Load() {
  valid_ = it_->Valid();
  if (!valid_) return FromLevelDb(it_->status());
  const std::string_view key = ToView(it_->key());
  valid_ = key >= begin_ && key < end_;
  if (!valid_) return {};
  EntryKey entry;
  if (!ParseEntryKey(key, &entry)) {
    valid_ = false;
    return Error(ErrorCode::kCorruption, "a stored key is malformed");
  }
  time_ = entry.time;
  sequence_ = entry.sequence;
  if (entry.row_prefix == row_prefix_) return {};
  row_prefix_.assign(entry.row_prefix);
  const std::string_view escaped =
      std::string_view(row_prefix_)
          .substr(kTablePrefixBytes, row_prefix_.size() - kTablePrefixBytes - 2);
  if (escaped.find('\0') == std::string_view::npos) {
    row_key_ = escaped;
    return {};
  }
  if (!DecodeRowPrefix(row_prefix_, &unescaped_)) {
    valid_ = false;
    return Error(ErrorCode::kCorruption, "a stored row key is malformed");
  }
  row_key_ = unescaped_;
  return {};
}

Status HeadSource::SeekRow(std::string_view key) {
  target_ = begin_;
  if (!key.empty()) AppendEscaped(key, &target_);
  it_->Seek(ToSlice(target_));
  return Load();
}

Status HeadSource::SeekRowBefore(std::string_view key) {
  target_ = key.empty() ? end_ : begin_;
  if (!key.empty()) AppendEscaped(key, &target_);
  it_->Seek(ToSlice(target_));
  if (it_->Valid()) {
    it_->Prev();
  } else if (it_->status().ok()) {
    it_->SeekToLast();
  }
  // The row's oldest entry; most rows have no other.
  Status loaded = Load();
  if (!loaded || !valid_) return loaded;
  const std::string row = row_prefix_;
  it_->Prev();
  loaded = Load();
  if (!loaded) return loaded;
  if (valid_ && row_prefix_ == row) {
    it_->Seek(ToSlice(row));
  } else if (it_->Valid()) {
    it_->Next();
  } else {
    it_->Seek(ToSlice(row));
  }
  return Load();
}

Status HeadSource::Next() {
  it_->Next();
  return Load();
}

Status HeadSource::SkipNewer(TimeUs below) {
  const std::string row = row_prefix_;
  for (int step = 0; step < kStepsBeforeSeek; ++step) {
    if (time_ < below) return {};
    const Status moved = Next();
    if (!moved || !valid_ || row_prefix_ != row) return moved;
  }
  target_.clear();
  AppendEntrySeek(row, below, &target_);
  it_->Seek(ToSlice(target_));
  return Load();
}

Status HeadSource::AddTo(RowAssembler* row) {
  if (row->Add(time_, sequence_, ToView(it_->value()))) return {};
  return Malformed(row_key_);
}

Status HeadSource::Read(WholeEntry* entry) {
  entry->row_key.assign(row_key_);
  entry->time = time_;
  entry->sequence = sequence_;
  const std::string_view stored = ToView(it_->value());
  entry->bytes.assign(stored.begin(), stored.end());
  return reader_.Read({entry->bytes.data(), entry->bytes.size()}, entry) ? Status()
                                                                         : Malformed(row_key_);
}

}  // namespace tallyd
