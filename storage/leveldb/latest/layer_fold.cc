#include "storage/leveldb/latest/layer_fold.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

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
  rewritten_.Reset();
  const bool by_name = std::any_of(layers->begin(), layers->end(), [](const Layer& layer) {
    EntryHead head;
    return ReadHead(layer, &head) && head.tag == EntryTag::kByName;
  });
  if (!(by_name ? FoldByName(table, *layers) : FoldBySet(table, *layers))) return false;
  layers->swap(left_);
  return true;
}

bool LayerFold::FoldBySet(TableId table, const std::vector<Layer>& layers) {
  TakenColumns& taken = taken_[table];
  taken.Begin();
  for (const Layer& layer : layers) {
    EntryHead head;
    if (!ReadHead(layer, &head)) return false;
    const TakenColumns::Set* set = taken.Find(head.number);
    if (set == nullptr) {
      const ColumnSet* const known = sets_.Find(table, head.number);
      if (known == nullptr) return false;
      set = taken.Add(*known);
    }
    if (!TakeLayer(layer, head, *set, &taken)) return false;
  }
  return true;
}

bool LayerFold::TakeLayer(const Layer& layer, const EntryHead& head, const TakenColumns::Set& set,
                          TakenColumns* taken) {
  const TakenColumns::Cover cover = taken->CoverOf(set);
  if (cover == TakenColumns::Cover::kAll) return true;
  if (cover == TakenColumns::Cover::kNone && head.tag == EntryTag::kBySet) {
    taken->TakeAll(set);
    left_.push_back(layer);
    return true;
  }
  if (!set.is_word() || !found_.Find(ValuesOfEntry(layer.entry), set.size())) {
    return TakeCells(layer, set, taken);
  }
  const uint64_t there = found_.there();
  if (there != set.all() && head.tag != EntryTag::kBySetSparse) return false;
  const uint64_t dropped = there & taken->BitsOf(set);
  taken->TakeBits(set, there);
  if (dropped == 0) {
    left_.push_back(layer);
  } else if (dropped != there) {
    char* const to = rewritten_.Reserve(DroppedRoom(layer.entry.size()));
    Keep(layer, rewritten_.Keep(DropShortValues(to, layer.entry, found_, set.size(), dropped)));
  }
  return true;
}

// One by one: of the others it is not known which cells there are, or which are covered.
bool LayerFold::TakeCells(const Layer& layer, const TakenColumns::Set& set, TakenColumns* taken) {
  const auto is_covered = [&](size_t column, bool is_there) {
    const bool was = taken->Has(set.numbers[column]);
    if (is_there) taken->Take(set.numbers[column]);
    return was;
  };
  entry_.Truncate(0);
  bool changed = false;
  if (!DropValues(layer.entry, set.size(), is_covered, &entry_, &changed)) return false;
  if (!changed) {
    left_.push_back(layer);
  } else if (entry_.size() > 0) {
    Keep(layer, rewritten_.Copy(entry_.View(0, entry_.size())));
  }
  return true;
}

void LayerFold::Keep(const Layer& layer, std::string_view rewritten) {
  left_.push_back(layer);
  left_.back().entry = rewritten;
}

bool LayerFold::FoldByName(TableId table, const std::vector<Layer>& layers) {
  std::deque<EntryCells> decoded;  // Keeps what `taken` views.
  std::set<std::pair<FamilyId, std::string_view>> taken;
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
      Keep(layer, rewritten_.Copy(filtered));
    }
  }
  return true;
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
  merged_.clear();
  std::merge(added_.begin(), added_.end(), layers_.begin(), layers_.end(),
             std::back_inserter(merged_), IsNewer);
  Fold(table, &merged_);
  EncodeLatest(merged_, &encoded_);
  return encoded_;
}

}  // namespace tallyd
