#include "storage/blocks/block_columns.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "storage/blocks/column_block.h"

namespace tallyd {
namespace {

// Blocks of changing columns must not keep the buffers of all that ever occurred.
constexpr size_t kKeptColumns = 1024;

}  // namespace

uint32_t BlockColumns::NumberOf(const ColumnRef& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (count_ == columns_.size()) columns_.emplace_back();
  columns_[count_].name = {name.family, std::string(name.qualifier)};
  numbers_.emplace(columns_[count_].name, count_);
  name_bytes_ += name.qualifier.size();
  return count_++;
}

std::vector<uint32_t> BlockColumns::Order(bool by_name) const {
  std::vector<uint32_t> order(count_);
  std::iota(order.begin(), order.end(), uint32_t{0});
  if (!by_name) return order;
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    return ComesBefore(columns_[a].name, columns_[b].name);
  });
  return order;
}

void BlockColumns::Clear() {
  for (uint32_t i = 0; i < count_; ++i) columns_[i].values.Clear();
  if (columns_.size() > kKeptColumns) columns_.resize(kKeptColumns);
  count_ = 0;
  name_bytes_ = 0;
  numbers_.clear();
}

}  // namespace tallyd
