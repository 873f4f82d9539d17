#include "api/query/answer/event_page.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr size_t kTextChunk = 64u << 10;

}  // namespace

bool EventPage::HasShape(const EventView& event, const Shape& shape) const {
  if (event.fields.size() != shape.fields.size()) return false;
  bool same = true;
  for (size_t i = 0; i < shape.fields.size(); ++i) same &= event.fields[i].field == shape.fields[i];
  return same;
}

size_t EventPage::FindShape(const EventView& event) {
  Shape shape;
  for (const EventField& field : event.fields) {
    if (is_answered_(field.field)) {
      shape.kept.push_back(field.field);
      shape.places.push_back(static_cast<uint32_t>(shape.fields.size()));
    }
    shape.fields.push_back(field.field);
  }
  std::string key(reinterpret_cast<const char*>(shape.fields.data()),
                  shape.fields.size() * sizeof(uint32_t));
  const auto [found, is_new] = shape_index_.try_emplace(std::move(key), shapes_.size());
  if (is_new) {
    bytes_ += sizeof(Shape) + shape.fields.size() * 4 * sizeof(uint32_t);
    shapes_.push_back(std::move(shape));
  }
  return found->second;
}

void EventPage::Add(const EventView& event) {
  const bool is_like_last = !events_.empty() && HasShape(event, shapes_[events_.back().shape]);
  const size_t index = is_like_last ? events_.back().shape : FindShape(event);
  Shape& shape = shapes_[index];
  const size_t first = values_.size();
  values_.resize(first + shape.places.size());
  Value* to = values_.data() + first;
  for (const uint32_t place : shape.places) *to++ = Keep(event.fields[place].value);
  if (!shape.all_met) Meet(values_.data() + first, &shape);
  events_.push_back({event.time, first, index});
  bytes_ += sizeof(Event) + shape.places.size() * sizeof(Value);
}

Value EventPage::Keep(const Value& value) {
  if (value.type() == ValueType::kString) return Value::String(Copy(value.AsView()));
  if (value.type() == ValueType::kBytes) return Value::Bytes(Copy(value.AsView()));
  return value;
}

void EventPage::Meet(const Value* values, Shape* shape) {
  shape->all_met = true;
  for (size_t i = 0; i < shape->kept.size(); ++i) {
    const uint32_t field = shape->kept[i];
    if (values[i].is_null()) {
      shape->all_met = false;
      continue;
    }
    if (field >= met_.size()) met_.resize(field + 1);
    met_[field] = true;
  }
}

std::string_view EventPage::Copy(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > free_bytes_) {
    free_bytes_ = std::max(kTextChunk, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = chunks_.back().get();
    bytes_ += free_bytes_;
  }
  text.copy(free_, text.size());
  const std::string_view copy(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return copy;
}

}  // namespace tallyd
