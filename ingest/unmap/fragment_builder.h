// Puts what the cells of one part of a row say together to events: fields that agree belong to one
// event, fields that contradict each other to another.
//
//   builder.BeginRow(key, key_fields, entity);
//   builder.BeginPart(time, &fragments, &count);   // Appends there.
//   builder.AddField / builder.Add per cell
//
// Not thread-safe.
#ifndef TALLYD_INGEST_UNMAP_FRAGMENT_BUILDER_H_
#define TALLYD_INGEST_UNMAP_FRAGMENT_BUILDER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ingest/unmap/row_reader.h"

namespace tallyd {

// A value that a cell contributes.
struct Piece {
  uint32_t field = 0;
  Value value;
  bool typed = false;  // Not read from a text.
};

class FragmentBuilder {
 public:
  // `fields` numbers all fields met.
  explicit FragmentBuilder(const FieldTable& fields) : fields_(fields) {}

  // What every event of the row has. Viewed until the next row.
  void BeginRow(std::string_view row_key, std::span<const EventField> key_fields,
                const LabelSpan& labels, std::string_view entity);
  void BeginPart(TimeUs time, std::vector<EventFragment>* out, size_t* count);

  // A typed value of one field: the common case.
  void AddField(uint32_t field, const Value& value) {
    if (*count_ == first_) NewFragment();
    if (seen_[field] != part_number_) [[likely]] {
      seen_[field] = part_number_;
      (*out_)[first_].fields.push_back({field, value});
      return;
    }
    const Piece piece{field, value, true};
    Add({&piece, 1});
  }
  // The fields, to add to, of the one event of a part whose cells tell nothing but different
  // fields, none of them the key's.
  std::vector<EventField>& AddFragment() { return NewFragment().fields; }
  void DropFragment() { --*count_; }  // The last.
  // Values that belong to one event: the first of the part, or the last, if they do not contradict
  // it; else a new one. No field twice.
  void Add(std::span<const Piece> pieces);
  // An event of its own, as a column of a latest table tells it; there is one of the row, too.
  void AddEvent(const ColumnRef& column, std::span<const Piece> pieces);
  // An event of which nothing but its key is told, unless the part has one already.
  void AddBare();

 private:
  EventFragment& NewFragment();
  bool Fits(const EventFragment& fragment, std::span<const Piece> pieces) const;
  void Merge(std::span<const Piece> pieces, EventFragment* fragment);
  bool IsAbsent(const EventFragment& fragment, uint32_t field) const;

  const FieldTable& fields_;
  std::string_view row_key_;
  std::span<const EventField> key_fields_;
  LabelSpan labels_;
  std::string_view entity_;

  std::vector<EventFragment>* out_ = nullptr;
  size_t* count_ = nullptr;
  size_t first_ = 0;  // The part's fragments begin here.
  TimeUs time_ = 0;
  std::vector<uint64_t> seen_;  // Per field: the last part whose first fragment has it.
  uint64_t part_number_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_UNMAP_FRAGMENT_BUILDER_H_
