#include "service/lint/table_sample.h"

#include <algorithm>

#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

constexpr size_t kRanges = 8;
constexpr uint64_t kLeastEntries = 8192;  // Of a range.
constexpr uint64_t kRowsOfRange = 256;
// Rows of large values end a range sooner.
constexpr uint64_t kBytesOfRange = 16u << 20;
constexpr size_t kTexts = 64;
constexpr uint64_t kValues = 1000;

class Sampler {
 public:
  Sampler(const Table& table, const TablePtr& stored, Store& store, TimeUs now)
      : table_(table), stored_(stored), store_(store), now_(now) {}

  Result<TableSample> Run() {
    const Result<std::vector<KeyRange>> ranges =
        store_.Split(stored_, {}, {}, {kRanges, kLeastEntries});
    if (!ranges) return ranges.error();
    for (const KeyRange& range : *ranges) {
      if (Status read = ReadRange(range); !read) return read.error();
    }
    if (Status read = ReadLeading(); !read) return read.error();
    return std::move(sample_);
  }

 private:
  Status ReadRange(const KeyRange& range) {
    ScanSpec spec;
    spec.ranges = {range};
    spec.limit = kRowsOfRange;
    spec.now = now_;
    const std::unique_ptr<RowScan> scan = store_.Scan(stored_, spec);
    uint64_t bytes = 0;
    while (bytes < kBytesOfRange) {
      const Result<bool> more = scan->Next();
      if (!more) return more.error();
      if (!*more) break;
      bytes += TakeRow(scan->row());
    }
    return {};
  }

  // The bytes of its values.
  uint64_t TakeRow(const Row& row) {
    ++sample_.rows;
    TakeTimes(row);
    if (table_.row_key.ReadBack(row.key, &scratch_, &fields_)) {
      for (const KeyField& field : fields_) TakeText(field);
    }
    uint64_t bytes = 0;
    for (const CellView& cell : row.cells) {
      const ValueType type = cell.value.type();
      if (type != ValueType::kString && type != ValueType::kBytes) continue;
      const uint64_t size = cell.value.AsView().size();
      bytes += size;
      if (size <= sample_.value_bytes) continue;
      sample_.value_bytes = size;
      sample_.column =
          stored_->families[cell.column.family].name + ":" + std::string(cell.column.qualifier);
    }
    return bytes;
  }

  void TakeTimes(const Row& row) {
    if (row.parts.empty()) return;
    sample_.times.from = std::min(sample_.times.from, row.parts.back().time);
    sample_.times.to = std::max(sample_.times.to, row.parts.front().time);
  }

  void TakeText(const KeyField& field) {
    if (field.value.is_null()) return;
    const std::string_view name = table_.row_key.NameOf(field);
    if (field.label.empty() && name == kFieldPlaceholder) return;
    std::set<std::string>& texts = sample_.texts[std::string(name)];
    if (texts.size() < kTexts) texts.insert(ToText(field.value));
  }

  // The first placeholder of the key, where it gives back a field.
  const Segment* LeadingSegment() const {
    for (const Segment& segment : table_.row_key.segments()) {
      if (segment.is_literal()) continue;
      return GivesBackInKey(segment) && segment.field != kFieldPlaceholder ? &segment : nullptr;
    }
    return nullptr;
  }

  Status ReadLeading() {
    const Segment* leading = LeadingSegment();
    if (leading == nullptr) return {};
    sample_.leading = leading->field;
    ScanSpec spec;
    spec.keys_only = true;
    spec.versions = 1;
    spec.now = now_;
    const std::unique_ptr<RowScan> scan = store_.Scan(stored_, spec);
    while (sample_.values < kValues) {
      const Result<bool> more = scan->Next();
      if (!more) return more.error();
      if (!*more) {
        sample_.knows_all_values = true;
        return {};
      }
      if (!TakeLeading(scan->row(), scan.get())) return {};
    }
    return {};
  }

  // Counts the row's leading value and passes over all rows that have it. False: somebody wrote a
  // key of another form.
  bool TakeLeading(const Row& row, RowScan* scan) {
    if (!table_.row_key.ReadBack(row.key, &scratch_, &fields_) || fields_.empty()) return false;
    const KeyField& field = fields_.front();
    TakeTimes(row);
    TakeText(field);
    ++sample_.values;
    if (field.value.type() == ValueType::kInt64 && !row.parts.empty()) {
      sample_.numbers.emplace(field.value.AsInt(), row.parts.front().time);
    }
    const auto offset = static_cast<size_t>(field.raw.data() - row.key.data());
    std::string prefix(row.key.substr(0, offset + field.raw.size()));
    if (field.segment + 1 < table_.row_key.segments().size()) {
      prefix += table_.row_key.segments()[field.segment + 1].literal;
      const std::string end = PrefixEnd(prefix);
      if (end.empty()) return false;
      scan->SkipTo(end);
    }
    return true;
  }

  const Table& table_;
  const TablePtr& stored_;
  Store& store_;
  const TimeUs now_;
  TableSample sample_;
  std::string scratch_;
  std::vector<KeyField> fields_;
};

}  // namespace

Result<TableSample> SampleTable(const Table& table, const TablePtr& stored, Store& store,
                                TimeUs now) {
  return Sampler(table, stored, store, now).Run();
}

}  // namespace tallyd
