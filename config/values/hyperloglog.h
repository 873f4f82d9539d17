// HyperLogLog: about how many distinct texts were added, in 12 KiB at most. After Heule, Nunkesser
// and Hall, "HyperLogLog in Practice" (EDBT 2013), with the estimator of Ertl, "New cardinality
// estimation algorithms for HyperLogLog sketches" (arXiv:1702.01284, 2017), which needs no table of
// corrections:
//
// 1. A text is its XXH3 hash of 64 bits, seed 0.
// 2. While there are few, each is kept by the first 25 bits of its hash and the place of the first
//    one among the others: sparse, exact but for collisions of 25 bits.
// 3. Beyond kMaxSparse there are 2^14 registers: the first 14 bits choose one, which keeps the
//    greatest place of a first one among the other bits. The standard error is then 0.81 %.
//
// The same texts make the same bytes, in whatever order, and however often, they and the sketches
// of parts of them are added: sparse or dense depends on the distinct hashes alone, which only grow
// in number. Not thread-safe.
#ifndef TALLYD_CONFIG_VALUES_HYPERLOGLOG_H_
#define TALLYD_CONFIG_VALUES_HYPERLOGLOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

class HyperLogLog {
 public:
  static constexpr size_t kMaxSparse = 3072;

  void Add(std::string_view text);
  // Adds what the state of another one stands for. False: these bytes are none that Encode makes,
  // and nothing has changed.
  bool Merge(std::string_view state);
  // The state, appended: a byte that says 1 (sparse) or 2 (dense), and what storage/FORMAT.md says.
  void Encode(std::string* out) const;
  // Rounded to an integer.
  uint64_t Estimate() const;

 private:
  bool is_dense() const { return !registers_.empty(); }
  void AddSparse(uint32_t entry);
  void MergeSparse(const std::vector<uint32_t>& entries);
  void Raise(uint32_t entry);
  void MakeDense();

  std::vector<uint32_t> sparse_;    // 25 bits of the hash, 6 bits of the place; ascending.
  std::vector<uint8_t> registers_;  // Empty while it is sparse.
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_HYPERLOGLOG_H_
