#include "service/nightly/day_copy.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

constexpr size_t kBatchBytes = 1u << 20;
constexpr size_t kCellBytes = 16;          // Of a cell beside its text, about.
constexpr size_t kDeleteBytes = 1u << 10;  // So that a batch has not very many of them.
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

// The rows that the table which is made whole has already, in key order, beside the scan of the
// other one.
class TableAsItIs {
 public:
  TableAsItIs(Store& store, const DayCopy& copy) : store_(store), copy_(copy) {}

  // Goes on where it is with a scan of its own.
  Status Reopen() {
    ScanSpec spec;
    spec.ranges = {KeyRange{next_, {}}};
    spec.now = copy_.now;
    scan_ = store_.Scan(copy_.to, spec);
    return Move();
  }
  void Close() { scan_.reset(); }
  // What lies up to the key is as it is to be, and by now holds what was written meanwhile: another
  // scan begins behind it.
  void Settle(std::string_view key) {
    if (next_ <= key) next_ = std::string(key) + '\0';
  }

  // Null: there is no more.
  const Row* row() const { return has_row_ ? &scan_->row() : nullptr; }
  Status Pass() {
    next_ = std::string(scan_->row().key) + '\0';
    return Move();
  }

 private:
  Status Move() {
    const Result<bool> more = scan_->Next();
    has_row_ = more && *more;
    if (has_row_) next_ = scan_->row().key;
    return more ? Status() : Status(more.error());
  }

  Store& store_;
  const DayCopy& copy_;
  std::string next_;  // What lies before it was passed.
  std::unique_ptr<RowScan> scan_;
  bool has_row_ = false;
};

class Copier {
 public:
  Copier(Store& store, Writer& writer, const DayCopy& copy)
      : store_(store), writer_(writer), copy_(copy), there_(store, copy) {
    for (const StoredFamily& family : copy.from->families) {
      families_.push_back(copy.to->FindFamily(family.name));
    }
  }

  Status Begin() { return there_.Reopen(); }
  void Rest() { there_.Close(); }

  // Takes the row if it is of the day.
  Status Add(const Row& row) {
    if (copy_.source.row_key.FindDay(row.key) != copy_.day) return {};
    if (Status passed = RemoveUpTo(row.key); !passed) return passed;
    EndRun();
    const Row* const there = there_.row();
    uint64_t cells = 0;
    if (there != nullptr && there->key == row.key) {
      cells = Change(row, *there);
      if (Status passed = there_.Pass(); !passed) return passed;
    } else {
      for (const RowPart& part : row.parts) cells += AddPart(row, part);
    }
    there_.Settle(row.key);
    if (cells == 0) return {};
    ++counts_.rows;
    counts_.cells += cells;
    return {};
  }
  // No row comes any more: what is left there goes.
  Status Finish() { return RemoveUpTo({}); }

  bool is_full() const { return bytes_ >= kBatchBytes; }
  const DayCounts& counts() const { return counts_; }

  Status Commit() {
    EndRun();
    if (!batch_) return {};
    bytes_ = 0;
    return writer_.PutCopied(TheDaemon(), std::exchange(batch_, nullptr));
  }

 private:
  // A cell of either row, by the column that it has in the table that is made whole.
  struct Place {
    ColumnRef column;
    TimeUs time = 0;
    const Value* value = nullptr;

    auto order() const { return std::tie(column.family, column.qualifier, time); }
    friend bool operator<(const Place& a, const Place& b) { return a.order() < b.order(); }
  };

  // Rows before the key, which may be none, that nothing of the day was in.
  Status RemoveUpTo(std::string_view key) {
    for (const Row* row = there_.row(); row != nullptr; row = there_.row()) {
      if (!key.empty() && row->key >= key) break;
      if (gone_.start.empty()) gone_.start = row->key;
      gone_.end = std::string(row->key) + '\0';
      if (Status passed = there_.Pass(); !passed) return passed;
    }
    return {};
  }
  void EndRun() {
    if (gone_.end.empty()) return;
    DeleteSpec what;
    what.rows = std::exchange(gone_, {});
    Delete(what);
  }
  void Delete(const DeleteSpec& what) {
    if (!batch_) batch_ = store_.NewBatch();
    batch_->Delete(*copy_.to, what);
    bytes_ += kDeleteBytes;
  }

  std::vector<Place> PlacesOf(const Row& row, bool is_source) const {
    std::vector<Place> places;
    for (const RowPart& part : row.parts) {
      for (const CellView& cell : row.CellsOf(part)) {
        const auto family =
            is_source ? families_[cell.column.family] : std::optional(cell.column.family);
        if (!family) continue;
        places.push_back({{*family, cell.column.qualifier}, part.time, &cell.value});
      }
    }
    std::ranges::sort(places, std::less<>());
    return places;
  }

  // Makes the row that is there what it is by now, and tells how many cells that is.
  size_t Change(const Row& now, const Row& there) {
    const std::vector<Place> wanted = PlacesOf(now, true);
    const std::vector<Place> found = PlacesOf(there, false);
    auto next = found.begin();
    for (const Place& cell : wanted) {
      while (next != found.end() && *next < cell) DeleteCell(there, *next++);
      const bool is_there = next != found.end() && !(cell < *next);
      if (is_there && *cell.value == *next->value) {
        ++next;
        continue;
      }
      // Folded with what is there it would be something else.
      const bool folds = copy_.to->families[cell.column.family].rules.aggregate.has_value();
      if (is_there && folds) DeleteCell(there, *next);
      if (is_there) ++next;
      if (!batch_) batch_ = store_.NewBatch();
      batch_->Put(*copy_.to, now.key, cell.time, {&cell.column, 1}, {cell.value, 1});
      bytes_ += now.key.size() + BytesOf(cell.column, *cell.value);
    }
    while (next != found.end()) DeleteCell(there, *next++);
    return wanted.size();
  }
  void DeleteCell(const Row& row, const Place& cell) {
    DeleteSpec what;
    what.rows = RangeOfKey(row.key);
    what.family = cell.column.family;
    what.qualifier = std::string(cell.column.qualifier);
    what.cells = {cell.time, cell.time + 1};
    Delete(what);
  }

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
    for (const CellView& cell : cells) bytes_ += BytesOf(cell.column, cell.value);
    return cells.size();
  }
  static size_t BytesOf(const ColumnRef& column, const Value& value) {
    const bool is_text = value.type() >= ValueType::kString;
    return kCellBytes + column.qualifier.size() + (is_text ? value.AsView().size() : 0);
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
  TableAsItIs there_;
  KeyRange gone_;  // Rows that are there and of the day no more; none, where its end is empty.
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
                          const std::function<Status(const DayCounts&)>& go_on) {
  ScanSpec spec = SpecOf(copy);
  Copier copier(store, writer, copy);
  const auto commit = [&]() -> Status {
    if (Status may_go_on = go_on(copier.counts()); !may_go_on) return may_go_on;
    return copier.Commit();
  };
  while (!spec.ranges.empty()) {
    std::unique_ptr<RowScan> scan = store.Scan(copy.from, spec);
    if (Status begun = copier.Begin(); !begun) return begun.error();
    std::string last;
    for (uint64_t rows = 0; rows < kRowsOfScan; ++rows) {
      const Result<bool> more = scan->Next();
      if (!more) return more.error();
      if (!*more) {
        spec.ranges.clear();
        break;
      }
      if (Status added = copier.Add(scan->row()); !added) return added.error();
      last = scan->row().key;
      if (!copier.is_full()) continue;
      if (Status committed = commit(); !committed) return committed.error();
    }
    if (spec.ranges.empty()) break;
    scan.reset();  // It keeps files, and who copies may rest now.
    copier.Rest();
    GoOnBehind(last, &spec.ranges);
    if (Status may_go_on = go_on(copier.counts()); !may_go_on) return may_go_on.error();
  }
  if (Status finished = copier.Finish(); !finished) return finished.error();
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
