#include "storage/leveldb/latest/latest_merge.h"

#include <algorithm>
#include <map>

namespace tallyd {

bool DecodeEntry(const ColumnRegistry& sets, TableId table, std::string_view entry,
                 EntryCells* cells) {
  *cells = {};
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head)) return false;
  Value value;
  if (head.tag == EntryTag::kByName) {
    for (uint32_t i = 0; i < head.number; ++i) {
      ColumnRef column;
      if (!GetColumn(&in, &column) || !DecodeValue(&in, &value) || value.is_null()) return false;
      cells->columns.push_back(column);
      cells->values.push_back(value);
    }
    return in.done();
  }
  cells->set = sets.Find(table, head.number);
  if (cells->set == nullptr) return false;
  for (const Column& column : cells->set->columns) {
    if (!DecodeValue(&in, &value)) return false;
    if (value.is_null() && head.tag != EntryTag::kBySetSparse) return false;
    cells->columns.push_back(column.ref());
    cells->values.push_back(value);
  }
  return in.done();
}

bool FilterEntry(EntryCells* cells, const std::function<bool(const ColumnRef&)>& drop,
                 std::string* out) {
  bool changed = false;
  for (size_t i = 0; i < cells->columns.size(); ++i) {
    if (cells->values[i].is_null() || !drop(cells->columns[i])) continue;
    cells->values[i] = Value();
    changed = true;
  }
  if (!changed) return false;
  ByteBuffer buffer;
  if (cells->set != nullptr) {
    AppendEntry(*cells->set, cells->values, &buffer);
  } else {
    AppendEntry(cells->columns, cells->values, &buffer);
  }
  out->assign(buffer.data(), buffer.size());
  return true;
}

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

Result<std::string_view> LatestMerge::Put(TableId table, TableMode mode, std::string_view row,
                                          const Layer& layer) {
  if (row.empty()) return Encode({&layer, 1});
  if (!DecodeLatest(row, &layers_)) return Malformed();
  if (mode == TableMode::kLatestRow) {
    return layers_.front().IsNewerThan(layer) ? row : Encode({&layer, 1});
  }
  LayerHead head;
  if (!ReadHead(layer, &head)) return Malformed();
  // Layers of the same set: a complete one covers every older one.
  bool covered = false;
  std::erase_if(layers_, [&](const Layer& old) {
    LayerHead other;
    if (!ReadHead(old, &other) || !head.by_set || !other.by_set || other.set != head.set) {
      return false;
    }
    const bool newer = old.IsNewerThan(layer);
    covered = covered || (newer && other.complete);
    return !newer && head.complete;
  });
  if (covered) return row;
  const auto place = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& old) { return layer.IsNewerThan(old); });
  layers_.insert(place, layer);
  rewritten_.clear();
  if (layers_.size() > 1 && NeedsCellMerge(table, layer)) {
    const Status merged = MergeCells(table);
    if (!merged) return merged.error();
  }
  return Encode(layers_);
}

// Not when the layer that came is of a set that shares no column with those of the others: what was
// there before has no column twice.
bool LatestMerge::NeedsCellMerge(TableId table, const Layer& added) {
  LayerHead head;
  if (!ReadHead(added, &head) || !head.by_set) return true;
  SetColumns& columns = columns_[table];
  const std::vector<uint32_t>* const own = NumbersOf(table, head.set, &columns);
  if (own == nullptr) return true;
  ++columns.merges;
  for (const uint32_t number : *own) columns.in_merge[number] = columns.merges;
  return std::ranges::any_of(layers_, [&](const Layer& layer) {
    if (layer.sequence == added.sequence) return false;
    LayerHead other;
    if (!ReadHead(layer, &other) || !other.by_set) return true;
    const std::vector<uint32_t>* const others = NumbersOf(table, other.set, &columns);
    return others == nullptr || std::ranges::any_of(*others, [&](uint32_t number) {
             return columns.in_merge[number] == columns.merges;
           });
  });
}

// Null if the set is not known.
const std::vector<uint32_t>* LatestMerge::NumbersOf(TableId table, uint32_t set,
                                                    SetColumns* columns) const {
  if (const auto known = columns->of_set.find(set); known != columns->of_set.end()) {
    return &known->second;
  }
  const ColumnSet* const found = sets_.Find(table, set);
  if (found == nullptr) return nullptr;
  std::vector<uint32_t>& numbers = columns->of_set[set];
  for (const Column& column : found->columns) {
    const auto next = static_cast<uint32_t>(columns->numbers.size());
    const ColumnKey key(column.family, column.qualifier);
    numbers.push_back(columns->numbers.try_emplace(key, next).first->second);
  }
  columns->in_merge.resize(columns->numbers.size());
  return &numbers;
}

// Newest first: what an earlier layer has is taken out of the later ones.
Status LatestMerge::MergeCells(TableId table) {
  static const GcRule kKeepAll;
  cells_.BeginRow();
  std::map<ColumnKey, uint32_t> numbers;
  std::vector<EntryCells> decoded(layers_.size());  // Keeps what `numbers` views.
  std::vector<Layer> left;
  rewritten_.reserve(layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    EntryCells& cells = decoded[i];
    if (!DecodeEntry(sets_, table, layers_[i].entry, &cells)) return Malformed();
    std::string filtered;
    const auto is_covered = [&](const ColumnRef& column) {
      const auto number = static_cast<uint32_t>(numbers.size());
      const ColumnKey key(column.family, column.qualifier);
      const uint32_t known = numbers.try_emplace(key, number).first->second;
      return cells_.Take(known, layers_[i].time, kKeepAll) != CellMerge::Fate::kLive;
    };
    const bool changed = FilterEntry(&cells, is_covered, &filtered);
    if (changed && filtered.empty()) continue;
    left.push_back(layers_[i]);
    if (changed) {
      rewritten_.push_back(std::move(filtered));
      left.back().entry = rewritten_.back();
    }
  }
  layers_ = std::move(left);
  return {};
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
