// TakenColumns: which columns of one table are taken so far, asked and told by column sets: of up
// to 64 columns, a word, as bits, bit i for the i-th column of the set. Of one thread.
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
    // As those of a table's first set do, and of sets of one column.
    bool follow_each_other = true;

    size_t size() const { return numbers.size(); }
    bool is_word() const { return size() > 0 && size() <= kWord; }
    // The bits of all its columns. REQUIRES: is_word().
    uint64_t all() const { return ~uint64_t{0} >> (kWord - size()); }
  };
  // How many columns of a set are taken. Of a set without columns: all.
  enum class Cover : uint8_t { kNone, kSome, kAll };

  // None is taken.
  void Begin();
  // The set as it was added; null: it was not. Valid until the next Add.
  const Set* Find(uint32_t set) const {
    const auto found = sets_.find(set);
    return found == sets_.end() ? nullptr : &found->second;
  }
  // `set` outlives this.
  const Set* Add(const ColumnSet& set);

  Cover CoverOf(const Set& set) const;
  void TakeAll(const Set& set);
  bool Has(uint32_t number) const { return (taken_[number / kWord] >> number % kWord & 1) != 0; }
  void Take(uint32_t number) { TakeIn(number / kWord, uint64_t{1} << number % kWord); }

  // REQUIRES, both: is_word().
  uint64_t BitsOf(const Set& set) const;
  void TakeBits(const Set& set, uint64_t bits);

 private:
  using Name = std::pair<FamilyId, std::string_view>;

  void TakeIn(size_t word, uint64_t bits) {
    if (bits == 0) return;
    if (taken_[word] == 0) touched_.push_back(word);
    taken_[word] |= bits;
  }

  boost::unordered_flat_map<Name, uint32_t> numbers_;
  boost::unordered_flat_map<uint32_t, Set> sets_;
  std::vector<uint64_t> taken_;  // A word more than the numbers need.
  std::vector<size_t> touched_;  // Words of it that are not 0.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_LATEST_TAKEN_COLUMNS_H_
