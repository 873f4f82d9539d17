#include "service/access/row_clamp.h"

#include <algorithm>
#include <utility>

#include "config/escape/key_escape.h"
#include "config/escape/labels.h"
#include "config/schema/placeholder.h"

namespace tallyd {
namespace {

// Whether a's range ends before b's does; an empty end is the end of the table.
bool EndsBefore(const KeyRange& a, const KeyRange& b) {
  return !a.end.empty() && (b.end.empty() || a.end < b.end);
}

bool IsEmpty(const KeyRange& range) { return !range.end.empty() && range.end <= range.start; }

KeyRange Intersection(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.start, b.start), EndsBefore(a, b) ? a.end : b.end};
}

class ClampedScan final : public RowScan {
 public:
  ClampedScan(std::unique_ptr<RowScan> rows, const RowClamp& clamp, uint64_t limit)
      : rows_(std::move(rows)), clamp_(clamp), limit_(limit) {}

  Result<bool> Next() override {
    if (limit_ > 0 && given_ == limit_) return false;
    while (true) {
      const Result<bool> more = rows_->Next();
      if (!more || !*more) return more;
      if (!clamp_.Admits(rows_->row().key)) continue;
      ++given_;
      return true;
    }
  }
  void SkipTo(std::string_view key) override { rows_->SkipTo(key); }
  const Row& row() const override { return rows_->row(); }

 private:
  const std::unique_ptr<RowScan> rows_;
  const RowClamp& clamp_;
  const uint64_t limit_;  // 0: all.
  uint64_t given_ = 0;
};

}  // namespace

bool RowClamp::IsHeldBy(const RowKeyTemplate& row_key, const Scope& scope) {
  const std::vector<std::string>& held = row_key.entity_fields();
  return std::ranges::all_of(scope, [&](const auto& of_field) {
    return std::ranges::find(held, of_field.first) != held.end() ||
           row_key.HoldsAsLabel(of_field.first);
  });
}

RowClamp::RowClamp(const RowKeyTemplate& row_key, const Scope& scope, TimeUnit unit)
    : row_key_(row_key), scope_(scope), is_empty_(false) {
  KnownFields known;
  for (const auto& [field, value] : scope_) known.values[field] = {value};
  for (size_t i = 0; i < row_key_.segments().size() && !is_empty_; ++i) {
    const Segment& segment = row_key_.segments()[i];
    if (segment.is_labels) {
      ExpectLabels(i);
      continue;
    }
    const auto value = scope_.find(segment.field);
    const bool says_value = !segment.is_literal() && value != scope_.end() &&
                            (segment.is_salt() || GivesBackInKey(segment));
    if (says_value) is_empty_ = !Expect(i, value->second, unit);
  }
  if (is_empty_) return;
  leads_ = true;
  size_t next = 0;  // Of what is expected.
  for (size_t i = 0; leads_ && next < expected_.size(); ++i) {
    // Beside a label stand others.
    const bool is_expected = expected_[next].segment == i && expected_[next].label.empty();
    leads_ = is_expected || row_key_.segments()[i].is_literal();
    if (is_expected) ++next;
  }
  // Where it would take too many ranges, keys are read from the first to the last.
  Result<KeyRanges> found = FindKeyRanges(row_key_, known, unit);
  ranges_ = found ? std::move(found->ranges) : std::vector{KeyRange{}};
}

void RowClamp::ExpectLabels(size_t segment) {
  for (const auto& [field, value] : scope_) {
    if (!row_key_.HoldsAsLabel(field)) continue;
    Expected expected{segment, value, field};
    EscapeTail(0, LabelStops{row_key_.segments()[segment].stop}, &expected.raw);
    expected_.push_back(std::move(expected));
  }
}

// False: no key can say the value there.
bool RowClamp::Expect(size_t segment, const std::string& value, TimeUnit unit) {
  const Segment& placeholder = row_key_.segments()[segment];
  Expected expected{segment, {}, {}};
  if (!row_key_.AppendSegment(placeholder, Value::String(value), 0, unit, &expected.raw)) {
    return false;
  }
  if (!placeholder.is_salt() && !ReadsBack(segment, expected.raw, value)) return false;
  expected_.push_back(std::move(expected));
  return true;
}

// Whether the text in the key is of this value and of no other one.
bool RowClamp::ReadsBack(size_t segment, const std::string& raw, const std::string& value) const {
  std::string scratch;
  scratch.reserve(raw.size());
  Value read;
  return ReadPlaceholder(row_key_.segments()[segment], raw, &scratch, &read) &&
         ToText(read) == value;
}

bool RowClamp::Admits(std::string_view key) const {
  if (is_empty_) return false;
  thread_local std::string scratch;
  thread_local std::vector<KeyField> fields;
  if (!row_key_.ReadBack(key, &scratch, &fields)) return false;
  auto field = fields.begin();
  for (const Expected& expected : expected_) {
    field = std::find_if(field, fields.end(), [&expected](const KeyField& each) {
      return each.segment == expected.segment && each.label == expected.label;
    });
    if (field == fields.end() || field->raw != expected.raw) return false;
  }
  return true;
}

Error RowClamp::Outside() const {
  std::string own;
  for (const auto& [field, value] : scope_) {
    own += (own.empty() ? "" : " and ") + field + " is \"" + value + "\"";
  }
  return Error(ErrorCode::kForbidden,
               "whoever asks may change only rows whose key says that " + own);
}

bool RowClamp::Owns(const KeyRange& rows) const {
  if (rows.end == rows.start + '\0') return Admits(rows.start);
  return leads_ && Within({rows}) == std::vector{rows};
}

bool RowClamp::OwnsStem(const KeyRange& range) const {
  if (range.end == range.start + '\0') return Admits(range.start);
  return !is_empty_ && range.end == PrefixEnd(range.start) && StemTells(range.start);
}

// Whether the text of {labels} is one, and has each that is expected there.
bool RowClamp::LabelsTell(size_t segment, std::string_view raw) const {
  std::string scratch;
  scratch.reserve(raw.size());
  std::vector<ReadLabel> labels;
  if (!ReadLabels(raw, row_key_.segments()[segment].stop, &scratch, &labels)) return false;
  return std::ranges::all_of(expected_, [&](const Expected& expected) {
    return expected.segment != segment ||
           std::ranges::any_of(labels, [&expected](const ReadLabel& label) {
             return label.name == expected.label && label.raw == expected.raw;
           });
  });
}

// Whether what stands before the time of a key says all of the scope.
bool RowClamp::StemTells(std::string_view stem) const {
  auto expected = expected_.begin();
  const std::vector<Segment>& segments = row_key_.segments();
  for (size_t i = 0; i < segments.size() && !segments[i].ends_stem(); ++i) {
    const Segment& segment = segments[i];
    size_t extent = segment.literal.size();
    if (segment.is_literal()) {
      if (!stem.starts_with(segment.literal)) return false;
    } else {
      extent = ExtentByForm(segment, stem);
      if (extent == 0) extent = FindStop(stem, segment.stop);
      if (extent > stem.size()) return false;
    }
    if (segment.is_labels) {
      if (!LabelsTell(i, stem.substr(0, extent))) return false;
      while (expected != expected_.end() && expected->segment == i) ++expected;
    } else if (expected != expected_.end() && expected->segment == i) {
      if (stem.substr(0, extent) != expected->raw) return false;
      ++expected;
    }
    stem.remove_prefix(extent);
  }
  return stem.empty() && expected == expected_.end();
}

std::vector<KeyRange> RowClamp::Within(const std::vector<KeyRange>& ranges) const {
  std::vector<KeyRange> within;
  if (is_empty_) return within;
  auto own = ranges_.begin();
  for (auto asked = ranges.begin(); asked != ranges.end() && own != ranges_.end();) {
    KeyRange both = Intersection(*asked, *own);
    if (!IsEmpty(both)) within.push_back(std::move(both));
    if (EndsBefore(*asked, *own)) {
      ++asked;
    } else {
      ++own;
    }
  }
  return within;
}

void RowClamp::Narrow(KnownFields* known) const {
  for (const auto& [field, value] : scope_) {
    const auto found = known->values.find(field);
    const bool is_wanted = found == known->values.end() ||
                           std::ranges::find(found->second, value) != found->second.end();
    known->values[field] =
        is_wanted && !is_empty_ ? std::vector{value} : std::vector<std::string>{};
  }
}

std::unique_ptr<RowScan> ScanRows(Store& store, const TablePtr& table, ScanSpec spec,
                                  const RowClamp* clamp) {
  if (clamp == nullptr) return store.Scan(table, spec);
  // Rows of others count towards no limit.
  const uint64_t limit = std::exchange(spec.limit, 0);
  spec.ranges = clamp->Within(spec.ranges);
  return std::make_unique<ClampedScan>(store.Scan(table, spec), *clamp, limit);
}

}  // namespace tallyd
