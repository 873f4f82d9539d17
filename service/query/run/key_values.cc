#include "service/query/run/key_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "service/query/ask/key_fields.h"

namespace tallyd {
namespace {

// The segment of the row key that gives the field back; that of the labels, where it is one.
size_t SegmentOf(const Table& table, std::string_view field) {
  const std::vector<Segment>& segments = table.row_key.segments();
  const bool is_label = table.row_key.HoldsAsLabel(field);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (is_label ? segments[i].is_labels
                 : segments[i].field == field && GivesBackInKey(segments[i])) {
      return i;
    }
  }
  return segments.size();
}

class ValueScan {
 public:
  ValueScan(const KeyValuesQuery& query, Store& store, TimeUs now, ReadMemoryPtr memory)
      : query_(query),
        scan_bytes_(BytesOfScan(memory.get())),
        charge_(std::move(memory)),
        row_key_(query.table->row_key),
        segment_(SegmentOf(*query.table, query.field)),
        label_(row_key_.HoldsAsLabel(query.field) ? std::string_view(query.field)
                                                  : std::string_view()),
        leading_(label_.empty() &&
                 std::all_of(row_key_.segments().begin(),
                             row_key_.segments().begin() + static_cast<ptrdiff_t>(segment_),
                             [](const Segment& segment) { return segment.is_literal(); })) {
    ScanSpec spec;
    spec.keys_only = true;
    spec.versions = 1;
    spec.now = now;
    if (leading_) spec.ranges = {LeadingRange()};
    scan_ = ScanRows(store, store.FindTable(query.table->name), std::move(spec), query.clamp);
  }

  Result<KeyValues> Run() {
    KeyValues answer;
    while (!full_) {
      if (answer.rows_read == query_.most_rows) {
        answer.is_whole = false;
        break;
      }
      if (!charge_.Covers(scan_bytes_ + found_bytes_)) return charge_.refusal();
      const Result<bool> more = scan_->Next();
      if (!more) return more.error();
      if (!*more) break;
      ++answer.rows_read;
      const std::string_view key = scan_->row().key;
      if (!row_key_.ReadBack(key, &scratch_, &fields_)) continue;
      const auto it = std::find_if(fields_.begin(), fields_.end(), [&](const KeyField& field) {
        return field.segment == segment_ && field.label == label_;
      });
      if (it != fields_.end()) Take(it->value);
      if (!label_.empty()) {
        SkipSeries(key);
      } else if (it != fields_.end()) {
        Skip(key);
      }
    }
    for (auto& [order, found] : found_) {
      if (answer.values.size() == query_.limit) break;
      if (found_.size() > query_.limit) answer.last = found.text;
      answer.values.push_back(std::move(found));
    }
    answer.held = std::move(charge_);
    return answer;
  }

 private:
  // The rows whose leading value starts with the prefix and lies behind the page before.
  KeyRange LeadingRange() const {
    std::string start;
    for (size_t i = 0; i < segment_; ++i) start += row_key_.segments()[i].literal;
    KeyRange range = PrefixRange(start);
    const Segment& segment = row_key_.segments()[segment_];
    if (segment.spec.info().is_as_is && !query_.prefix.empty()) {
      std::string key = start;
      if (Append(segment, Value::String(query_.prefix), &key)) range = PrefixRange(key);
    }
    if (query_.after) {
      std::string key = start;
      if (Append(segment, ValueFromText(*query_.after), &key)) {
        if (segment_ + 1 < row_key_.segments().size()) {
          const Segment& next = row_key_.segments()[segment_ + 1];
          if (next.is_literal()) key += next.literal;
          range.start = std::max(range.start, PrefixEnd(key));
        } else {
          range.start = std::max(range.start, key + '\0');
        }
      }
    }
    return range;
  }

  bool Append(const Segment& segment, const Value& value, std::string* key) const {
    const size_t before = key->size();
    if (!value.is_null() && row_key_.AppendSegment(segment, value, 0, query_.unit, key))
      return true;
    key->resize(before);
    return false;
  }

  void Take(const Value& value) {
    KeyValue found{{}, value.type()};
    AppendText(value, &found.text);
    if (!std::string_view(found.text).starts_with(query_.prefix)) return;
    // Key order needs no sorting: the number of values seen so far is the order.
    if (!leading_ && query_.after && found.text <= *query_.after) return;
    std::string order = leading_ ? Numbered(found_.size()) : found.text;
    if (leading_ && !found_.empty() && found_.rbegin()->second.text == found.text) return;
    const uint64_t bytes = BytesOf(order, found);
    if (found_.try_emplace(std::move(order), std::move(found)).second) found_bytes_ += bytes;
    if (found_.size() <= query_.limit) return;
    full_ = leading_;
    if (found_.size() <= query_.limit + 1) return;
    const auto last = std::prev(found_.end());
    found_bytes_ -= BytesOf(last->first, last->second);
    found_.erase(last);
  }

  // Its text is in the answer, between quotes, and once more while that is written.
  static uint64_t BytesOf(const std::string& order, const KeyValue& found) {
    return kFoundBytes + order.size() + found.text.size() + 2 * (found.text.size() + 2);
  }

  static std::string Numbered(size_t n) {
    std::string digits = std::to_string(n);
    return std::string(20 - digits.size(), '0') + digits;
  }

  // Skips every key that agrees with this one up to the value. Where that prefix cannot be made
  // again (a time comes before), row after row is read.
  void Skip(std::string_view key) {
    std::string prefix;
    for (size_t i = 0; i <= segment_; ++i) {
      const Segment& segment = row_key_.segments()[i];
      if (segment.is_literal()) {
        prefix += segment.literal;
      } else if (!Append(segment, ValueOf(i), &prefix)) {
        return;
      }
    }
    if (segment_ + 1 == row_key_.segments().size()) return;
    const Segment& next = row_key_.segments()[segment_ + 1];
    if (next.is_literal()) prefix += next.literal;
    const std::string end = PrefixEnd(prefix);
    if (!end.empty() && key.starts_with(prefix)) scan_->SkipTo(end);
  }

  // Skips every key that agrees with this one up to its time, where the labels come before that.
  void SkipSeries(std::string_view key) {
    const auto& segments = row_key_.segments();
    const auto time = std::ranges::find_if(segments, &Segment::ends_stem);
    if (time == segments.end() || time - segments.begin() < static_cast<ptrdiff_t>(segment_))
      return;
    const std::string end = PrefixEnd(key.substr(0, row_key_.StemSize(key)));
    if (!end.empty()) scan_->SkipTo(end);
  }

  // A salt's is that of its field, which may stand further right.
  Value ValueOf(size_t segment) const {
    const std::vector<Segment>& segments = row_key_.segments();
    for (const KeyField& field : fields_) {
      const bool same =
          field.segment == segment ||
          (segments[segment].is_salt() && segments[field.segment].field == segments[segment].field);
      if (same && !field.value.is_null()) return field.value;
    }
    return Value();
  }

  static constexpr uint64_t kFoundBytes = 192;  // Of the map, and behind short texts.

  const KeyValuesQuery& query_;
  const uint64_t scan_bytes_;
  MemoryCharge charge_;
  const RowKeyTemplate& row_key_;
  const size_t segment_;
  const std::string_view label_;  // Its name, where it is a label; else empty.
  const bool leading_;
  std::unique_ptr<RowScan> scan_;
  std::string scratch_;
  std::vector<KeyField> fields_;
  std::map<std::string, KeyValue> found_;  // By order; at most one more than the limit.
  uint64_t found_bytes_ = 0;
  bool full_ = false;
};

// The table that gives the field's values at the least cost: a latest table has the fewest rows.
const Table* TableFor(const Schema& schema, const Stream& stream, const StreamFields& known,
                      std::string_view field) {
  const Table* best = nullptr;
  const auto cost = [&](const Table& table) {
    return std::pair(!KeepsNewest(table), SegmentOf(table, field));
  };
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    if (!KeyMayTell(table, known, field)) continue;
    if (best == nullptr || cost(table) < cost(*best)) best = &table;
  }
  return best;
}

Error NotAKeyField(const Schema& schema, const Stream& stream, const StreamFields& known,
                   const std::string& field) {
  constexpr size_t kMaxLabels = 20;  // There may be very many.
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    for (const std::string& name : table.row_key.entity_fields()) add(name);
    for (const std::string& name : known.names()) {
      if (names.size() < kMaxLabels && KeyMayTell(table, known, name)) add(name);
    }
  }
  std::string message = "field: '" + field + "' stands in no row key of the stream";
  for (const std::string& name : names) {
    message += (name == names.front() ? "; those that do are " : ", ") + name;
  }
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

}  // namespace

Result<const Table*> TableOfValues(const Schema& schema, const Stream& stream,
                                   const StreamFields& known, const std::string& field) {
  const Table* const table = TableFor(schema, stream, known, field);
  if (table == nullptr) return NotAKeyField(schema, stream, known, field);
  return table;
}

Result<KeyValues> ReadKeyValues(const KeyValuesQuery& query, Store& store, TimeUs now,
                                ReadMemoryPtr memory) {
  return ValueScan(query, store, now, std::move(memory)).Run();
}

}  // namespace tallyd
