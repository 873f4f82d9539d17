#include "ingest/decode/shape.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "ingest/decode/superset.h"
#include "ingest/decode/superset_learner.h"

namespace tallyd {

bool SupersetTerms::RequireOneOf(std::span<const uint32_t> places) const {
  Places choice = {};
  for (const uint32_t place : places) choice[place / 64] |= uint64_t{1} << place % 64;
  const std::lock_guard lock(mutex_);
  const size_t known = choices_in_use_.load(std::memory_order_relaxed);
  if (std::find(choices_.begin(), choices_.begin() + known, choice) != choices_.begin() + known) {
    return true;
  }
  if (known == kMaxChoices) return false;
  choices_[known] = choice;
  choices_in_use_.store(known + 1, std::memory_order_release);
  return true;
}

bool SupersetTerms::AreMetBy(const Places& places) const {
  bool met = true;
  for (size_t i = 0; i < kWords; ++i) {
    met &= (required_[i].load(std::memory_order_relaxed) & ~places[i]) == 0;
  }
  const size_t choices = choices_in_use_.load(std::memory_order_acquire);
  for (size_t choice = 0; met && choice < choices; ++choice) {
    uint64_t common = 0;
    for (size_t i = 0; i < kWords; ++i) common |= choices_[choice][i] & places[i];
    met = common != 0;
  }
  return met;
}
namespace {

// What all interned names may take together: fields that do not recur must not fill the memory.
constexpr size_t kMaxInternedBytes = 32u << 20;

uint64_t HashOf(std::span<const std::string_view> fields, const std::vector<uint32_t>* labels) {
  XXH64_hash_t hash = fields.size();
  if (labels != nullptr) {
    hash = XXH3_64bits_withSeed(labels->data(), labels->size() * sizeof(uint32_t), ~hash);
  }
  for (std::string_view field : fields) {
    hash = XXH3_64bits_withSeed(field.data(), field.size(), hash);
  }
  return hash;
}

}  // namespace

std::optional<uint32_t> Shape::Find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field);
  if (found == fields.end()) return std::nullopt;
  return static_cast<uint32_t>(found - fields.begin());
}

ShapeRegistry::ShapeRegistry()
    : learner_(std::make_unique<SupersetLearner>()),
      time_fields_(&all_time_fields_.emplace_back()) {}
ShapeRegistry::~ShapeRegistry() = default;

void ShapeRegistry::SetTimeFields(TimeFields fields) {
  const std::lock_guard lock(mutex_);
  if (fields == all_time_fields_.back()) return;
  time_fields_.store(&all_time_fields_.emplace_back(std::move(fields)), std::memory_order_release);
}

const Superset* ShapeRegistry::superset() const {
  const Superset* const last = superset_.load(std::memory_order_acquire);
  return last == nullptr || last->shape().terms->refused() ? nullptr : last;
}

const Shape* ShapeRegistry::Intern(std::span<const std::string_view> fields,
                                   const std::vector<uint32_t>* labels) {
  const uint64_t hash = HashOf(fields, labels);
  const auto is_same = [&](const Shape& shape) {
    const bool same_labels = labels == nullptr ? !shape.labels : shape.labels == *labels;
    return same_labels && std::ranges::equal(shape.fields, fields);
  };
  std::lock_guard lock(mutex_);
  auto [begin, end] = shapes_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (is_same(*it->second)) return it->second.get();
  }
  if (labels == nullptr) Learn(fields);
  size_t bytes = labels == nullptr ? 0 : labels->size() * sizeof(uint32_t);
  for (std::string_view field : fields) bytes += sizeof(std::string) + field.size();
  if (shapes_.size() >= kMaxShapes || bytes_ + bytes > kMaxInternedBytes) return nullptr;
  auto shape = std::make_unique<Shape>();
  shape->fields.assign(fields.begin(), fields.end());
  if (labels != nullptr) shape->labels = *labels;
  shape->interned = true;
  shape->number = next_number_++;
  bytes_ += bytes;
  return shapes_.emplace(hash, std::move(shape))->second.get();
}

// Under the lock.
void ShapeRegistry::Learn(std::span<const std::string_view> fields) {
  std::unique_ptr<const Superset> made =
      learner_->Count(fields, superset_.load(std::memory_order_relaxed), next_number_);
  if (!made) return;
  ++next_number_;
  supersets_.push_back(std::move(made));
  superset_.store(supersets_.back().get(), std::memory_order_release);
}

}  // namespace tallyd
