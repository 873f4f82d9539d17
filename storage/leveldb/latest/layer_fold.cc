#include "storage/leveldb/latest/layer_fold.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

bool ReadHead(const Layer& layer, EntryHead* head) {
  ByteReader in(layer.entry);
  return GetEntryHead(&in, head);
}

bool IsNewer(const Layer& a, const Layer& b) { return a.IsNewerThan(b); }

}  // namespace

bool LayerFold::Fold(TableId table, std::vector<Layer>* layers) {
  left_.clear();
  rewritten_.clear();
  const bool by_name = std::any_of(layers->begin(), layers->end(), [](const Layer& layer) {
    EntryHead head;
    return ReadHead(layer, &head) && head.tag == EntryTag::kByName;
  });
  if (!(by_name ? FoldByName(table, *layers) : FoldBySet(table, *layers))) return false;
  layers->swap(left_);
  return true;
}

bool LayerFold::FoldBySet(TableId table, const std::vector<Layer>& layers) {
  SetColumns& columns = columns_[table];
  ++columns.folds;
  for (const Layer& layer : layers) {
    EntryHead head;
    if (!ReadHead(layer, &head)) return false;
    const std::vector<uint32_t>* const numbers = NumbersOf(table, head.number, &columns);
    if (numbers == nullptr) return false;
    const auto covered =
        static_cast<size_t>(std::count_if(numbers->begin(), numbers->end(), [&](uint32_t number) {
          return columns.taken[number] == columns.folds;
        }));
    if (covered == numbers->size()) continue;
    if (covered == 0 && head.tag == EntryTag::kBySet) {
      for (const uint32_t number : *numbers) columns.taken[number] = columns.folds;
      left_.push_back(layer);
    } else if (!TakeCells(layer, *numbers, &columns)) {
      return false;
    }
  }
  return true;
}

// One by one: of the others it is not known which cells there are, or which are covered.
bool LayerFold::TakeCells(const Layer& layer, const std::vector<uint32_t>& numbers,
                          SetColumns* columns) {
  const auto is_covered = [&](size_t column, bool is_there) {
    uint64_t& taken = columns->taken[numbers[column]];
    const bool was = taken == columns->folds;
    taken = is_there ? columns->folds : taken;
    return was;
  };
  entry_.Truncate(0);
  bool changed = false;
  if (!DropValues(layer.entry, numbers.size(), is_covered, &entry_, &changed)) return false;
  if (!changed) {
    left_.push_back(layer);
  } else if (entry_.size() > 0) {
    Keep(layer, std::string(entry_.View(0, entry_.size())));
  }
  return true;
}

void LayerFold::Keep(const Layer& layer, std::string&& rewritten) {
  rewritten_.push_back(std::move(rewritten));
  left_.push_back(layer);
  left_.back().entry = rewritten_.back();
}

bool LayerFold::FoldByName(TableId table, const std::vector<Layer>& layers) {
  std::deque<EntryCells> decoded;  // Keeps what `taken` views.
  std::set<ColumnKey> taken;
  for (const Layer& layer : layers) {
    EntryCells& cells = decoded.emplace_back();
    if (!DecodeEntry(sets_, table, layer.entry, &cells)) return false;
    std::string filtered;
    const auto is_covered = [&](const ColumnRef& column) {
      return !taken.emplace(column.family, column.qualifier).second;
    };
    if (!FilterEntry(&cells, is_covered, &filtered)) {
      left_.push_back(layer);
    } else if (!filtered.empty()) {
      Keep(layer, std::move(filtered));
    }
  }
  return true;
}

const std::vector<uint32_t>* LayerFold::NumbersOf(TableId table, uint32_t set,
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
  columns->taken.resize(columns->numbers.size());
  return &numbers;
}

std::string_view LayerFold::FoldHeld(TableId table, std::string_view held, std::string_view added) {
  OpenRow open{0, held, {}};
  if (IsOpen(held) && !DecodeOpenRow(held, &open)) return held;
  if (open.added.empty() && added.empty()) return open.folded;
  layers_.clear();
  added_.clear();
  if (!open.folded.empty() && !DecodeLatest(open.folded, &layers_)) return open.folded;
  if (!DecodeLayers(open.added, &added_) || !DecodeLayers(added, &added_)) return open.folded;
  // They mostly came in order.
  std::reverse(added_.begin(), added_.end());
  if (!std::is_sorted(added_.begin(), added_.end(), IsNewer)) {
    std::sort(added_.begin(), added_.end(), IsNewer);
  }
  std::vector<Layer> merged;
  merged.reserve(layers_.size() + added_.size());
  std::merge(added_.begin(), added_.end(), layers_.begin(), layers_.end(),
             std::back_inserter(merged), IsNewer);
  Fold(table, &merged);
  EncodeLatest(merged, &encoded_);
  return encoded_;
}

}  // namespace tallyd
