#include "service/limits/row_sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

// So many rows are remembered; with more the smaller half of them goes.
constexpr size_t kMostRows = 4096;
// A row that has grown by so much since it was measured is measured again.
constexpr uint64_t kMeasuredEvery = 32u << 20;
// From here on every write to a row counts, however small.
constexpr uint64_t kNearlyFull = kMaxRowBytes / 4 * 3;
// Phases that are spread over a sample as evenly as can be.
constexpr uint64_t kPhaseStep = 40'503;

// Whether what is newer may push out what is there.
bool ReplacesOld(const TableInfo& table) {
  return table.mode != TableMode::kHistory ||
         std::ranges::any_of(table.families, [](const StoredFamily& family) {
           return family.configured && family.rules.max_versions.has_value();
         });
}

std::string ShownKey(std::string_view key) {
  constexpr size_t kShownBytes = 200;
  return std::string(key.substr(0, kShownBytes)) + (key.size() > kShownBytes ? "..." : "");
}

}  // namespace

RowSampling RowSizes::Sampling() {
  const uint64_t step = phase_.fetch_add(kPhaseStep, std::memory_order_relaxed);
  return {any_full_.load(std::memory_order_relaxed), step % RowBytes::kSampleBytes};
}

Status RowSizes::Check(const RowBytes& batch) {
  if (batch.entries().empty()) return {};
  std::map<Key, uint64_t> sizes;  // With what the batch adds.
  bool is_due = false;
  Status fits;
  {
    const std::lock_guard lock(mutex_);
    for (const RowBytes::Entry& entry : batch.entries()) {
      Key key{entry.table->id, entry.key};
      const auto found = rows_.find(key);
      const bool is_known = found != rows_.end();
      const uint64_t before = is_known ? found->second.least() : 0;
      const bool is_new =
          !ReplacesOld(*entry.table) && (!is_known || entry.time > found->second.newest);
      uint64_t& size = sizes.try_emplace(std::move(key), before).first->second;
      size = is_new ? size + entry.bytes : std::max(size, entry.bytes);
      if (size <= kMaxRowBytes) continue;
      if (is_known) SetDue(&found->second);
      is_due = any_due_;
      fits = Invalid(
          fmt::format("row \"{}\" of table {} would have about {} bytes; a row holds {} at most",
                      ShownKey(entry.key), entry.table->name, size, kMaxRowBytes));
      break;
    }
  }
  if (is_due && on_due_) on_due_();
  return fits;
}

std::vector<RowSizes::LargeRow> RowSizes::Add(const RowBytes& batch) {
  std::vector<LargeRow> large;
  if (batch.entries().empty()) return large;
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    for (const RowBytes::Entry& entry : batch.entries()) {
      Row& row = rows_[{entry.table->id, entry.key}];
      row.table = entry.table;
      const bool is_new = entry.time > row.newest && !ReplacesOld(*entry.table);
      (is_new ? row.certain : row.other) += entry.bytes;
      row.newest = std::max(row.newest, entry.time);
      if (row.certain + row.other >= kMeasuredEvery) SetDue(&row);
      if (row.least() >= kNearlyFull) any_full_.store(true, std::memory_order_relaxed);
      if (row.most() > kRecommendedRowBytes && !row.is_told) {
        row.is_told = true;
        large.push_back({entry.table, entry.key, row.most()});
      }
    }
    if (rows_.size() > kMostRows) ForgetSmall();
    is_due = any_due_;
  }
  if (is_due && on_due_) on_due_();
  return large;
}

void RowSizes::SetDue(Row* row) {
  row->is_due = true;
  any_due_ = true;
}

void RowSizes::ForgetSmall() {
  std::vector<uint64_t> sizes;
  for (const auto& [key, row] : rows_) sizes.push_back(row.most());
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  const uint64_t least = std::min(*middle, kRecommendedRowBytes);
  std::erase_if(rows_, [&](const auto& each) { return each.second.most() <= least; });
}

void RowSizes::NoteFull() {
  any_full_.store(std::ranges::any_of(
                      rows_, [](const auto& each) { return each.second.least() >= kNearlyFull; }),
                  std::memory_order_relaxed);
}

// What is left of them is not known: nothing counts until they are measured.
void RowSizes::Shrink(TableId table, const KeyRange& rows) {
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto row = rows_.lower_bound({table, rows.start});
         row != rows_.end() && row->first.first == table &&
         (rows.end.empty() || row->first.second < rows.end);
         ++row) {
      Row& shrunk = row->second;
      shrunk.known = shrunk.certain = shrunk.other = 0;
      shrunk.taken_certain = shrunk.taken_other = 0;
      shrunk.is_told = false;
      SetDue(&shrunk);
      is_due = true;
    }
    NoteFull();
  }
  if (is_due && on_due_) on_due_();
}

std::vector<RowSizes::LargeRow> RowSizes::Large() const {
  std::vector<LargeRow> large;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, row] : rows_) {
    if (row.most() > kRecommendedRowBytes) large.push_back({row.table, key.second, row.most()});
  }
  std::sort(large.begin(), large.end(),
            [](const LargeRow& a, const LargeRow& b) { return a.bytes > b.bytes; });
  return large;
}

std::optional<RowSizes::LargeRow> RowSizes::TakeToMeasure() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, row] : rows_) {
    if (!row.is_due || row.is_taken) continue;
    row.is_due = false;
    row.is_taken = true;
    row.taken_certain = row.certain;
    row.taken_other = row.other;
    return LargeRow{row.table, key.second, row.most()};
  }
  any_due_ = false;
  return std::nullopt;
}

void RowSizes::Measured(const LargeRow& measured, std::optional<uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find({measured.table->id, measured.key});
  if (found == rows_.end()) return;
  Row& row = found->second;
  row.is_taken = false;
  if (!bytes) return;
  row.known = *bytes;
  row.certain -= std::min(row.certain, row.taken_certain);
  row.other -= std::min(row.other, row.taken_other);
  if (row.most() <= kRecommendedRowBytes) row.is_told = false;
  NoteFull();
}

}  // namespace tallyd
