// TakenColumns: which columns of one table are taken so far, asked and told by column sets: of up to
// 64 columns as one word, bit i for the i-th column of the set. Of one thread.
#ifndef TALLYD_STORAGE_LEVELDB_LATEST_TAKEN_COLUMNS_H_
#define TALLYD_STORAGE_LEVELDB_LATEST_TAKEN_COLUMNS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/table_info.h"

namespace tallyd {

class TakenColumns {
 public:
  static constexpr size_t kWord = 64;

  // Of a set its columns by number.
  struct Set {
    std::vector<uint32_t> numbers;
    bool follow_each_other =
        true;  // As those of a table's first set do, and of sets of one column.

    size_t size() const { return numbers.size(); }
    // The bits of all its columns. REQUIRES: 1 to kWord of them.
    uint64_t all() const { return ~uint64_t{0} >> (kWord - size()); }
  };

  // None is taken.
  void Begin() { taken_.assign(taken_.size(), 0); }
  // The set as it was added; null: it was not. Valid until the next Add.
  const Set* Find(uint32_t set) const {
    const auto found = sets_.find(set);
    return found == sets_.end() ? nullptr : &found->second;
  }
  // `set` outlives this.
  const Set* Add(const ColumnSet& set);

  bool Has(uint32_t number) const { return (taken_[number / kWord] >> number % kWord & 1) != 0; }
  void Take(uint32_t number) { taken_[number / kWord] |= uint64_t{1} << number % kWord; }

  // REQUIRES, both: at most kWord columns, one at least.
  uint64_t BitsOf(const Set& set) const;
  void TakeBits(const Set& set, uint64_t bits);

 private:
  using Name = std::pair<FamilyId, std::string_view>;

  boost::unordered_flat_map<Name, uint32_t> numbers_;
  boost::unordered_flat_map<uint32_t, Set> sets_;
  std::vector<uint64_t> taken_;  // A word more than the numbers need.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_TAKEN_COLUMNS_H_
