#include "storage/leveldb/latest/latest_merge.h"

#include <algorithm>
#include <utility>

namespace tallyd {

namespace {

Error Malformed() {
  return Error(ErrorCode::kCorruption, "a stored row of a latest table is malformed");
}

struct LayerHead {
  bool by_set = false;
  bool complete = false;  // Every column of the set.
  uint32_t set = 0;
};

bool ReadHead(const Layer& layer, LayerHead* head) {
  ByteReader in(layer.entry);
  EntryHead entry;
  if (!GetEntryHead(&in, &entry)) return false;
  head->by_set = entry.tag != EntryTag::kByName;
  head->complete = entry.tag == EntryTag::kBySet;
  head->set = entry.number;
  return true;
}

}  // namespace

std::string_view LatestMerge::Encode(std::span<const Layer> layers) {
  EncodeLatest(layers, &encoded_);
  return encoded_;
}

namespace {

// Of most layers: every column of one of the first sets.
bool AreOfOneSet(const Layer& a, const Layer& b) {
  const auto first_byte = static_cast<char>(EntryTag::kBySet);
  return a.entry.size() > 2 && b.entry.size() > 2 && a.entry[0] == first_byte &&
         b.entry[0] == first_byte && a.entry[1] == b.entry[1] &&
         static_cast<uint8_t>(a.entry[1]) < 0x80;
}

}  // namespace

LatestMerge::Fate LatestMerge::FateOf(TableMode mode, const Layer& newest, bool alone,
                                      const Layer& added) {
  const bool newer = newest.IsNewerThan(added);
  if (mode == TableMode::kLatestRow) return newer ? Fate::kIsCovered : Fate::kReplaces;
  if (alone && AreOfOneSet(newest, added)) return newer ? Fate::kIsCovered : Fate::kReplaces;
  LayerHead known;
  LayerHead head;
  if (!alone || !ReadHead(newest, &known) || !ReadHead(added, &head)) return Fate::kMerges;
  if (!known.by_set || !head.by_set || known.set != head.set) return Fate::kMerges;
  if (newer) return known.complete ? Fate::kIsCovered : Fate::kMerges;
  return head.complete ? Fate::kReplaces : Fate::kMerges;
}

Result<std::string_view> LatestMerge::Put(TableId table, TableMode mode, std::string_view row,
                                          const Layer& layer) {
  if (row.empty()) return Encode({&layer, 1});
  if (!DecodeLatest(row, &layers_)) return Malformed();
  if (mode == TableMode::kLatestRow) {
    return layers_.front().IsNewerThan(layer) ? row : Encode({&layer, 1});
  }
  const auto place = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& old) { return layer.IsNewerThan(old); });
  layers_.insert(place, layer);
  if (!fold_.Fold(table, &layers_)) return Malformed();
  const bool covered = std::none_of(layers_.begin(), layers_.end(), [&](const Layer& left) {
    return left.sequence == layer.sequence;
  });
  return covered ? row : Encode(layers_);
}

bool LatestTrim::HidesLayer(const Layer& layer) const {
  return std::any_of(deletes.begin(), deletes.end(), [&](const auto* range) {
    return range->HidesEntry(layer.time, layer.sequence);
  });
}

bool LatestTrim::MayTouch(const Layer& layer) const {
  return std::any_of(
             deletes.begin(), deletes.end(),
             [&](const auto* range) { return range->HidesTime(layer.time, layer.sequence); }) ||
         std::any_of(oldest.begin(), oldest.end(),
                     [&](TimeUs of_family) { return layer.time < of_family; });
}

bool LatestTrim::HidesCell(const Layer& layer, const ColumnRef& column) const {
  const bool aged = column.family < oldest.size() && layer.time < oldest[column.family];
  return aged || std::any_of(deletes.begin(), deletes.end(), [&](const auto* range) {
           return range->HidesTime(layer.time, layer.sequence) && range->HidesColumn(column);
         });
}

Result<std::string_view> LatestMerge::Trim(TableId table, std::string_view row,
                                           const LatestTrim& trim) {
  if (!DecodeLatest(row, &layers_)) return Malformed();
  if (std::none_of(layers_.begin(), layers_.end(),
                   [&](const Layer& layer) { return trim.MayTouch(layer); })) {
    return row;
  }
  bool touched = false;
  rewritten_.clear();
  rewritten_.reserve(layers_.size());
  std::vector<Layer> left;
  for (const Layer& layer : layers_) {
    const bool whole = trim.HidesLayer(layer);
    touched = touched || whole;
    if (whole) continue;
    left.push_back(layer);
    if (!trim.MayTouch(layer)) continue;
    EntryCells cells;
    if (!DecodeEntry(sets_, table, layer.entry, &cells)) return Malformed();
    std::string filtered;
    const bool changed = FilterEntry(
        &cells, [&](const ColumnRef& column) { return trim.HidesCell(layer, column); }, &filtered);
    touched = touched || changed;
    if (changed && filtered.empty()) {
      left.pop_back();
    } else if (changed) {
      rewritten_.push_back(std::move(filtered));
      left.back().entry = rewritten_.back();
    }
  }
  if (!touched) return row;
  return left.empty() ? std::string_view() : Encode(left);
}

}  // namespace tallyd
