#include "storage/leveldb/read/entry_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// std::*_heap keep the greatest in front.
bool ComesLater(const EntrySource* a, const EntrySource* b) { return b->Precedes(*a); }

}  // namespace

void SourceMerge::Assign(const std::vector<EntrySource*>& sources) {
  heap_.clear();
  for (EntrySource* source : sources) {
    if (source->valid()) heap_.push_back(source);
  }
  std::make_heap(heap_.begin(), heap_.end(), ComesLater);
}

void SourceMerge::TopMoved() {
  if (!heap_.front()->valid()) {
    heap_.front() = heap_.back();
    heap_.pop_back();
  }
  EntrySource* const moved = heap_.empty() ? nullptr : heap_.front();
  size_t place = 0;
  for (size_t child = 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1]->Precedes(*heap_[child])) ++child;
    if (!heap_[child]->Precedes(*moved)) break;
    heap_[place] = heap_[child];
    place = child;
  }
  if (moved != nullptr) heap_[place] = moved;
}

std::optional<std::string_view> SourceMerge::NextRowOfOthers() const {
  if (heap_.size() < 2) return std::nullopt;
  if (heap_.size() == 2) return heap_[1]->row_key();
  return std::min(heap_[1]->row_key(), heap_[2]->row_key());
}

namespace {

Error Malformed(std::string_view row_key) {
  return Error(ErrorCode::kCorruption,
               fmt::format("a stored entry of row \"{}\" is malformed", row_key));
}

}  // namespace

HeadSource::HeadSource(TableId table, const ColumnRegistry& sets)
    : table_(table),
      sets_(sets),
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
  entry->columns.clear();
  entry->values.clear();
  entry->set = nullptr;
  ByteReader in({entry->bytes.data(), entry->bytes.size()});
  EntryHead head;
  if (!GetEntryHead(&in, &head)) return Malformed(row_key_);
  Value value;
  if (head.tag == EntryTag::kByName) {
    ColumnRef column;
    for (uint32_t i = 0; i < head.number; ++i) {
      if (!GetColumn(&in, &column) || !DecodeValue(&in, &value)) return Malformed(row_key_);
      entry->columns.push_back(column);
      entry->values.push_back(value);
    }
    return in.done() ? Status() : Malformed(row_key_);
  }
  if (last_set_ == nullptr || last_set_->id != head.number) {
    last_set_ = sets_.Find(table_, head.number);
  }
  entry->set = last_set_;
  if (entry->set == nullptr) return Malformed(row_key_);
  entry->values.resize(entry->set->columns.size());
  for (Value& each : entry->values) {
    if (!DecodeValue(&in, &each)) return Malformed(row_key_);
  }
  return in.done() ? Status() : Malformed(row_key_);
}

}  // namespace tallyd
