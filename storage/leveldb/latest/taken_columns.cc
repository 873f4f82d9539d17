#include "storage/leveldb/latest/taken_columns.h"

#include <algorithm>

namespace tallyd {

void TakenColumns::Begin() {
  for (const size_t word : touched_) taken_[word] = 0;
  touched_.clear();
}

const TakenColumns::Set* TakenColumns::Add(const ColumnSet& set) {
  Set& added = sets_[set.id];
  added = {};
  for (const Column& column : set.columns) {
    const auto next = static_cast<uint32_t>(numbers_.size());
    const Name name(column.family, column.qualifier);
    const uint32_t number = numbers_.try_emplace(name, next).first->second;
    added.follow_each_other &= added.numbers.empty() || number == added.numbers.back() + 1;
    added.numbers.push_back(number);
  }
  taken_.resize(numbers_.size() / kWord + 2);
  return &added;
}

TakenColumns::Cover TakenColumns::CoverOf(const Set& set) const {
  if (set.is_word()) [[likely]] {
    const uint64_t bits = BitsOf(set);
    if (bits == set.all()) return Cover::kAll;
    return bits == 0 ? Cover::kNone : Cover::kSome;
  }
  const auto taken = static_cast<size_t>(
      std::ranges::count_if(set.numbers, [&](uint32_t number) { return Has(number); }));
  if (taken == set.size()) return Cover::kAll;
  return taken == 0 ? Cover::kNone : Cover::kSome;
}

void TakenColumns::TakeAll(const Set& set) {
  if (set.is_word()) [[likely]] {
    return TakeBits(set, set.all());
  }
  for (const uint32_t number : set.numbers) Take(number);
}

uint64_t TakenColumns::BitsOf(const Set& set) const {
  if (set.follow_each_other) [[likely]] {
    const size_t word = set.numbers.front() / kWord;
    const size_t shift = set.numbers.front() % kWord;
    // Shifted in two steps: 64 at once are not defined.
    const uint64_t bits = taken_[word] >> shift | taken_[word + 1] << 1 << (kWord - 1 - shift);
    return bits & set.all();
  }
  uint64_t bits = 0;
  for (size_t i = 0; i < set.size(); ++i) bits |= uint64_t{Has(set.numbers[i])} << i;
  return bits;
}

void TakenColumns::TakeBits(const Set& set, uint64_t bits) {
  if (set.follow_each_other) [[likely]] {
    const size_t word = set.numbers.front() / kWord;
    const size_t shift = set.numbers.front() % kWord;
    TakeIn(word, bits << shift);
    TakeIn(word + 1, bits >> 1 >> (kWord - 1 - shift));
    return;
  }
  for (size_t i = 0; i < set.size(); ++i) {
    if ((bits >> i & 1) != 0) Take(set.numbers[i]);
  }
}

}  // namespace tallyd
