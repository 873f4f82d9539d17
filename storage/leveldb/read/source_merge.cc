#include "storage/leveldb/read/source_merge.h"

#include <algorithm>

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

}  // namespace tallyd
