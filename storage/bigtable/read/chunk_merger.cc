#include "storage/bigtable/read/chunk_merger.h"

#include <utility>

namespace tallyd {
namespace {

Error Broken(std::string_view what) {
  return Error(ErrorCode::kCorruption,
               std::string("Bigtable's answer breaks its protocol: ").append(what));
}

}  // namespace

Result<bool> ChunkMerger::Add(const Chunk& chunk) {
  if (chunk.reset_row()) {
    if (!is_inside_) return Broken("it takes back a row that has not begun");
    if (!chunk.row_key().empty() || chunk.has_family_name() || chunk.has_qualifier() ||
        !chunk.value().empty() || chunk.timestamp_micros() != 0) {
      return Broken("what takes back a row brings a cell");
    }
    is_inside_ = false;
    return false;
  }
  if (!is_inside_) {
    if (Status begun = Begin(chunk); !begun) return begun.error();
  } else if (!chunk.row_key().empty() && chunk.row_key() != row_.key) {
    return Broken("a row begins before the one before it is complete");
  }
  if (!in_value_) {
    if (Status taken = TakeColumn(chunk); !taken) return taken.error();
  } else if (chunk.has_family_name() || chunk.has_qualifier()) {
    return Broken("a column begins within a value");
  }
  return TakeValue(chunk);
}

Status ChunkMerger::Begin(const Chunk& chunk) {
  if (chunk.row_key().empty()) return Broken("a row has no key");
  if (!chunk.has_family_name() || !chunk.has_qualifier()) return Broken("a row has no column");
  if (any_row_) {
    const int order = chunk.row_key().compare(last_key_);
    if (reversed_ ? order >= 0 : order <= 0) return Broken("its keys are not in order");
  }
  arena_.Reset();
  row_.key = chunk.row_key();
  row_.cells.clear();
  is_inside_ = true;
  in_value_ = false;
  return {};
}

Status ChunkMerger::TakeColumn(const Chunk& chunk) {
  if (chunk.has_family_name()) {
    if (!chunk.has_qualifier()) return Broken("a family has no column");
    family_ = arena_.Copy(chunk.family_name().value());
  }
  if (chunk.has_qualifier()) qualifier_ = arena_.Copy(chunk.qualifier().value());
  return {};
}

Result<bool> ChunkMerger::TakeValue(const Chunk& chunk) {
  const bool goes_on = chunk.value_size() > 0;
  if (goes_on && chunk.commit_row()) return Broken("a row is complete within a value");
  if (!in_value_) {
    value_time_ = chunk.timestamp_micros();
    value_.clear();
    value_size_ = goes_on ? static_cast<uint64_t>(chunk.value_size()) : 0;
  }
  if (!in_value_ && !goes_on) {
    row_.cells.push_back({family_, qualifier_, value_time_, arena_.Copy(chunk.value())});
  } else {
    value_.append(chunk.value());
    if (value_.size() > value_size_) return Broken("a value is longer than it was said to be");
    if (!goes_on) {
      if (value_.size() != value_size_) return Broken("a value is shorter than it was said to be");
      row_.cells.push_back({family_, qualifier_, value_time_, arena_.Copy(value_)});
    }
  }
  in_value_ = goes_on;
  if (!chunk.commit_row()) return false;
  is_inside_ = false;
  any_row_ = true;
  last_key_ = row_.key;
  return true;
}

}  // namespace tallyd
