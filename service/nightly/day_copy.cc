#include "service/nightly/day_copy.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

constexpr size_t kBatchBytes = 1u << 20;
constexpr size_t kCellBytes = 16;  // Of a cell beside its text, about.
constexpr uint64_t kRowsOfScan = 20'000;

// The key ranges of the day; more of them than are read at once is the whole table.
std::vector<KeyRange> RangesOf(const DayCopy& copy) {
  KnownFields known;
  known.time = RangeOfDay(copy.day);
  Result<KeyRanges> ranges = FindKeyRanges(copy.source.row_key, known, copy.unit);
  if (!ranges || !ranges->bounded) return {KeyRange{}};
  return std::move(ranges->ranges);
}

ScanSpec SpecOf(const DayCopy& copy) {
  ScanSpec spec;
  spec.ranges = RangesOf(copy);
  if (!copy.has_strays) spec.cells = RangeOfDay(copy.day);
  spec.now = copy.now;
  return spec;
}

// What is left of the ranges behind that key.
void GoOnBehind(const std::string& key, std::vector<KeyRange>* ranges) {
  std::erase_if(*ranges,
                [&](const KeyRange& range) { return !range.end.empty() && range.end <= key; });
  if (!ranges->empty() && ranges->front().start <= key) ranges->front().start = key + '\0';
}

class Copier {
 public:
  Copier(Store& store, Writer& writer, const DayCopy& copy)
      : store_(store), writer_(writer), copy_(copy) {
    for (const StoredFamily& family : copy.from->families) {
      families_.push_back(copy.to->FindFamily(family.name));
    }
  }

  // Takes the row if it is of the day.
  void Add(const Row& row) {
    if (copy_.source.row_key.FindDay(row.key) != copy_.day) return;
    uint64_t cells = 0;
    for (const RowPart& part : row.parts) cells += AddPart(row, part);
    if (cells == 0) return;
    ++counts_.rows;
    counts_.cells += cells;
  }

  bool is_full() const { return bytes_ >= kBatchBytes; }
  const DayCounts& counts() const { return counts_; }

  Status Commit() {
    if (!batch_) return {};
    bytes_ = 0;
    return writer_.PutCopied(TheDaemon(), std::exchange(batch_, nullptr));
  }

 private:
  size_t AddPart(const Row& row, const RowPart& part) {
    if (!batch_) batch_ = store_.NewBatch();
    const std::span<const CellView> cells = row.CellsOf(part);
    if (part.set != nullptr) {
      if (const ColumnSet* set = SetOf(*part.set)) {
        values_.assign(set->columns.size(), Value());
        for (const CellView& cell : cells) values_[cell.set_index] = cell.value;
        batch_->Put(*copy_.to, row.key, part.time, *set, values_);
        return Count(row, cells);
      }
    }
    columns_.clear();
    values_.clear();
    for (const CellView& cell : cells) {
      const std::optional<FamilyId> family = families_[cell.column.family];
      if (!family) continue;
      columns_.push_back({*family, cell.column.qualifier});
      values_.push_back(cell.value);
    }
    if (columns_.empty()) return 0;
    batch_->Put(*copy_.to, row.key, part.time, columns_, values_);
    return Count(row, cells);
  }

  size_t Count(const Row& row, std::span<const CellView> cells) {
    bytes_ += row.key.size();
    for (const CellView& cell : cells) {
      bytes_ += kCellBytes + cell.column.qualifier.size();
      if (cell.value.type() >= ValueType::kString) bytes_ += cell.value.AsView().size();
    }
    return cells.size();
  }

  // The same columns in the other table, which are in the same order there; null: they have no set,
  // or not all of them a family.
  const ColumnSet* SetOf(const ColumnSet& set) {
    const auto known = sets_.find(&set);
    if (known != sets_.end()) return known->second;
    columns_.clear();
    for (const Column& column : set.columns) {
      const std::optional<FamilyId> family = families_[column.family];
      if (!family) return sets_[&set] = nullptr;
      columns_.push_back({*family, column.qualifier});
    }
    return sets_[&set] = store_.InternColumns(*copy_.to, columns_);
  }

  Store& store_;
  Writer& writer_;
  const DayCopy& copy_;
  std::vector<std::optional<FamilyId>> families_;  // Of the one by family of the other.
  std::unordered_map<const ColumnSet*, const ColumnSet*> sets_;
  std::unique_ptr<Batch> batch_;
  size_t bytes_ = 0;
  DayCounts counts_;
  std::vector<ColumnRef> columns_;
  std::vector<Value> values_;
};

}  // namespace

Result<DayCounts> CopyDay(Store& store, Writer& writer, const DayCopy& copy,
                          const std::function<Status(const DayCounts&)>& after_batch) {
  ScanSpec spec = SpecOf(copy);
  Copier copier(store, writer, copy);
  const auto commit = [&]() -> Status {
    if (Status committed = copier.Commit(); !committed) return committed;
    return after_batch(copier.counts());
  };
  while (!spec.ranges.empty()) {
    std::unique_ptr<RowScan> scan = store.Scan(copy.from, spec);
    std::string last;
    for (uint64_t rows = 0; rows < kRowsOfScan; ++rows) {
      const Result<bool> more = scan->Next();
      if (!more) return more.error();
      if (!*more) {
        spec.ranges.clear();
        break;
      }
      copier.Add(scan->row());
      last = scan->row().key;
      if (!copier.is_full()) continue;
      if (Status committed = commit(); !committed) return committed.error();
    }
    if (spec.ranges.empty()) break;
    scan.reset();  // It keeps files, and who copies may rest now.
    GoOnBehind(last, &spec.ranges);
    if (Status may_go_on = after_batch(copier.counts()); !may_go_on) return may_go_on.error();
  }
  if (Status committed = commit(); !committed) return committed.error();
  return copier.counts();
}

Result<bool> HasDay(Store& store, const DayCopy& copy, const std::function<Status()>& between) {
  ScanSpec spec = SpecOf(copy);
  spec.keys_only = true;
  while (!spec.ranges.empty()) {
    std::unique_ptr<RowScan> scan = store.Scan(copy.from, spec);
    std::string last;
    for (uint64_t rows = 0; rows < kRowsOfScan; ++rows) {
      const Result<bool> more = scan->Next();
      if (!more || !*more) return more;
      last = scan->row().key;
      if (copy.source.row_key.FindDay(last) == copy.day) return true;
    }
    scan.reset();
    GoOnBehind(last, &spec.ranges);
    if (Status may_go_on = between(); !may_go_on) return may_go_on.error();
  }
  return false;
}

}  // namespace tallyd
