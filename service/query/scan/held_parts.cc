#include "service/query/scan/held_parts.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kArenaBytes = 64u << 10;

static_assert(std::is_trivially_copyable_v<EventField> &&
              std::is_trivially_destructible_v<EventField>);

bool OwnsText(const Value& value) {
  return value.type() == ValueType::kString || value.type() == ValueType::kBytes;
}

}  // namespace

// At a place where an EventField may be.
char* HeldParts::Arena::Allocate(size_t size) {
  constexpr size_t kAlign = alignof(EventField);
  const size_t rounded = (size + kAlign - 1) / kAlign * kAlign;
  if (rounded > left) {
    const size_t chunk = std::max(rounded, kArenaBytes);
    chunks.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    free = chunks.back().get();
    left = chunk;
    bytes += chunk;
  }
  left -= rounded;
  return std::exchange(free, free + rounded);
}

std::string_view HeldParts::Arena::Copy(std::string_view text) {
  if (text.empty()) return {};
  char* const to = Allocate(text.size());
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

HeldParts::Part HeldParts::CopyOf(const Part& part, Arena* arena) {
  Part copy = part;
  copy.key.tie = arena->Copy(part.key.tie);
  if (part.fields.empty()) return copy;
  char* const to = arena->Allocate(part.fields.size_bytes());
  std::memcpy(to, part.fields.data(), part.fields.size_bytes());
  const std::span<EventField> fields(reinterpret_cast<EventField*>(to), part.fields.size());
  for (EventField& field : fields) {
    if (!OwnsText(field.value)) continue;
    const std::string_view text = arena->Copy(field.value.AsView());
    field.value =
        field.value.type() == ValueType::kString ? Value::String(text) : Value::Bytes(text);
  }
  copy.fields = fields;
  return copy;
}

bool HeldParts::IsBefore(const Part& a, const Part& b) const {
  if (less_(a.key, b.key)) return true;
  return !less_(b.key, a.key) && a.number < b.number;
}

void HeldParts::Add(const GroupKeyView& key, TimeUs time, std::span<const EventField> fields) {
  parts_.push_back(CopyOf({key, time, fields, added_++}, &arena_));
}

std::optional<GroupKey> HeldParts::Shrink() {
  if (parts_.size() < 2) return std::nullopt;
  const auto before = [this](const Part& a, const Part& b) { return IsBefore(a, b); };
  const auto middle = parts_.begin() + static_cast<std::ptrdiff_t>(parts_.size() / 2);
  std::nth_element(parts_.begin(), middle, parts_.end(), before);
  GroupKeyView bound = middle->key;
  const auto is_kept = [&](const Part& part) { return less_(part.key, bound); };
  if (std::none_of(parts_.begin(), middle, is_kept)) {
    // The first half is of one group: what comes behind it goes.
    const Part* next = nullptr;
    for (auto part = middle; part != parts_.end(); ++part) {
      if (less_(bound, part->key) && (next == nullptr || less_(part->key, next->key)))
        next = &*part;
    }
    if (next == nullptr) return std::nullopt;
    bound = next->key;
  }
  GroupKey left_out{bound.time, std::string(bound.tie)};
  bound = left_out.view();
  Arena arena;
  std::vector<Part> kept;
  for (const Part& part : parts_) {
    if (is_kept(part)) kept.push_back(CopyOf(part, &arena));
  }
  parts_ = std::move(kept);
  arena_ = std::move(arena);
  return left_out;
}

void HeldParts::Sort() {
  std::sort(parts_.begin(), parts_.end(),
            [this](const Part& a, const Part& b) { return IsBefore(a, b); });
}

void HeldParts::Clear() {
  parts_ = {};
  arena_ = {};
  added_ = 0;
}

}  // namespace tallyd
