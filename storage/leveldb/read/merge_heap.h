// MergeHeap: which of several ordered sequences has the next element, whatever they are: a binary
// heap, so that a step costs the logarithm of the sequences, and nothing but a look at two
// neighbours while one of them has the next elements to itself. Runs of a head, which are known
// beforehand, are merged by codes of their keys instead (files/run_iterator.h). One thread.
#ifndef TALLYD_STORAGE_LEVELDB_READ_MERGE_HEAP_H_
#define TALLYD_STORAGE_LEVELDB_READ_MERGE_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tallyd {

// Source has valid(), false at its end, and Precedes(other): whether its element comes before the
// other's, where both are valid. Sources outlive the heap.
template <class Source>
class MergeHeap {
 public:
  // Of the sources that are valid.
  void Assign(std::vector<Source*> sources) {
    heap_ = std::move(sources);
    std::erase_if(heap_, [](const Source* source) { return !source->valid(); });
    std::make_heap(heap_.begin(), heap_.end(),
                   // std::*_heap keep the greatest in front.
                   [](const Source* a, const Source* b) { return b->Precedes(*a); });
  }

  // The source with the next element; null at the end.
  Source* top() const { return heap_.empty() ? nullptr : heap_.front(); }
  // The second and third of the heap: the next but one is one of them. Null where there are fewer.
  Source* child(size_t i) const { return i + 1 < heap_.size() ? heap_[i + 1] : nullptr; }

  // After the caller moved top().
  void TopMoved() {
    if (!heap_.front()->valid()) {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    Source* const moved = top();
    size_t place = 0;
    for (size_t next = 1; next < heap_.size(); next = 2 * place + 1) {
      if (next + 1 < heap_.size() && heap_[next + 1]->Precedes(*heap_[next])) ++next;
      if (!heap_[next]->Precedes(*moved)) break;
      heap_[place] = heap_[next];
      place = next;
    }
    if (moved != nullptr) heap_[place] = moved;
  }

 private:
  std::vector<Source*> heap_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_MERGE_HEAP_H_
