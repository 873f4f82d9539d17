#include "ingest/unmap/fragment_builder.h"

#include <algorithm>

namespace tallyd {

void FragmentBuilder::BeginRow(std::string_view row_key, std::span<const EventField> key_fields,
                               const LabelSpan& labels, std::string_view entity) {
  row_key_ = row_key;
  labels_ = labels;
  key_fields_ = key_fields;
  entity_ = entity;
}

void FragmentBuilder::BeginPart(TimeUs time, std::vector<EventFragment>* out, size_t* count) {
  time_ = time;
  out_ = out;
  count_ = count;
  first_ = *count;
  ++part_number_;
  if (seen_.size() < fields_.size()) seen_.resize(fields_.size());
}

void FragmentBuilder::Add(std::span<const Piece> pieces) {
  // What a template or a blob names may be new.
  if (seen_.size() < fields_.size()) seen_.resize(fields_.size());
  if (*count_ == first_) NewFragment();
  EventFragment* const first = &(*out_)[first_];
  if (Fits(*first, pieces)) return Merge(pieces, first);
  EventFragment* const last = &(*out_)[*count_ - 1];
  if (last != first && !last->column && Fits(*last, pieces)) return Merge(pieces, last);
  Merge(pieces, &NewFragment());
}

void FragmentBuilder::AddEvent(const ColumnRef& column, std::span<const Piece> pieces) {
  if (seen_.size() < fields_.size()) seen_.resize(fields_.size());
  if (*count_ == first_) NewFragment();
  EventFragment& event = NewFragment();
  Merge(pieces, &event);
  event.column = column;
}

void FragmentBuilder::AddBare() {
  if (*count_ == first_) NewFragment();
}

EventFragment& FragmentBuilder::NewFragment() {
  const bool is_first = *count_ == first_;
  if (*count_ == out_->size()) out_->emplace_back();
  EventFragment& fragment = (*out_)[(*count_)++];
  fragment.time = time_;
  fragment.row_key = row_key_;
  fragment.entity = entity_;
  fragment.labels = labels_;
  fragment.column.reset();
  fragment.fields.assign(key_fields_.begin(), key_fields_.end());
  if (is_first) {
    for (const EventField& field : key_fields_) seen_[field.field] = part_number_;
  }
  return fragment;
}

// Told without a search, where that is possible.
bool FragmentBuilder::IsAbsent(const EventFragment& fragment, uint32_t field) const {
  return &fragment == &(*out_)[first_] && seen_[field] != part_number_;
}

bool FragmentBuilder::Fits(const EventFragment& fragment, std::span<const Piece> pieces) const {
  for (const Piece& piece : pieces) {
    if (IsAbsent(fragment, piece.field)) continue;
    const auto found = std::ranges::find(fragment.fields, piece.field, &EventField::field);
    if (found == fragment.fields.end()) continue;
    // A key field's cell says the same, with its own type.
    const bool in_key = static_cast<size_t>(found - fragment.fields.begin()) < key_fields_.size();
    if (!in_key && SaysOtherwise(found->value, piece.value)) return false;
  }
  return true;
}

// Where one value is spelt twice the typed one stays.
void FragmentBuilder::Merge(std::span<const Piece> pieces, EventFragment* fragment) {
  const bool is_first = fragment == &(*out_)[first_];
  for (const Piece& piece : pieces) {
    auto found = fragment->fields.end();
    if (!IsAbsent(*fragment, piece.field)) {
      found = std::ranges::find(fragment->fields, piece.field, &EventField::field);
    }
    if (found == fragment->fields.end()) {
      fragment->fields.push_back({piece.field, piece.value});
      if (is_first) seen_[piece.field] = part_number_;
    } else if (piece.typed) {
      found->value = piece.value;
    }
  }
}

}  // namespace tallyd
