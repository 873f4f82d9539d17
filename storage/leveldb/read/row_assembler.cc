#include "storage/leveldb/read/row_assembler.h"

#include <algorithm>
#include <utility>

#include "config/values/glob.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

constexpr size_t kMaxPicks = 65'536;

}  // namespace

ColumnPlan::ColumnPlan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                       std::vector<Telling> telling)
    : table_(std::move(table)),
      patterns_(spec.columns),
      sets_(sets),
      telling_(spec.keys_only ? std::vector<Telling>() : std::move(telling)) {
  for (const StoredFamily& family : table_->families) {
    GcRule rule = GcRule::Of(family, spec.now);
    rule.visible = rule.visible &&
                   (patterns_.empty() ||
                    std::any_of(patterns_.begin(), patterns_.end(), [&](const ColumnPattern& p) {
                      return GlobMatches(p.family, family.name);
                    }));
    rules_.push_back(rule);
  }
}

ColumnPlan::ColumnPlan(TablePtr table, const ColumnRegistry& sets, TimeUs now,
                       std::vector<Telling> telling)
    : table_(std::move(table)), sets_(sets), telling_(std::move(telling)) {
  for (const StoredFamily& family : table_->families) {
    rules_.push_back(GcRule::Of(family, now));
    rules_.back().visible = true;
  }
}

bool ColumnPlan::any_visible() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const GcRule& r) { return r.visible; });
}

bool ColumnPlan::counts_versions() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const GcRule& r) { return r.visible && r.counts_versions(); });
}

TimeUs ColumnPlan::oldest() const {
  TimeUs oldest = std::numeric_limits<TimeUs>::max();
  for (const GcRule& rule : rules_) {
    if (!rule.visible) continue;
    oldest = std::min(oldest, rule.oldest_of_all());
  }
  return oldest;
}

TimeUs ColumnPlan::ageless_from() const {
  TimeUs from = std::numeric_limits<TimeUs>::min();
  for (const GcRule& rule : rules_) {
    if (rule.visible) from = std::max(from, rule.oldest);
  }
  return from;
}

const ColumnPlan::OfSet* ColumnPlan::Set(uint32_t number) {
  if (last_ != nullptr && last_->set->id == number) return last_;
  std::unique_ptr<OfSet>& plan = plans_[number];
  if (!plan) {
    const ColumnSet* set = sets_.Find(table_->id, number);
    if (set == nullptr) return nullptr;
    plan = std::make_unique<OfSet>();
    plan->set = set;
    plan->ageless_from = std::numeric_limits<TimeUs>::min();
    for (const Column& column : set->columns) {
      const Pick& pick = Named(column.ref());
      plan->picks.push_back(pick);
      if (!pick.selected && pick.tells < 0) continue;
      plan->end = static_cast<uint32_t>(plan->picks.size());
      if (!pick.selected) continue;
      plan->ageless_from = std::max(plan->ageless_from, pick.rule->oldest);
    }
  }
  last_ = plan.get();
  return last_;
}

const ColumnPlan::Pick& ColumnPlan::Named(const ColumnRef& column) {
  const auto known = picks_.find(column);
  if (known != picks_.end()) return known->second;
  const Column name{column.family, std::string(column.qualifier)};
  const auto added = picks_.emplace(name, MakePick(column)).first;
  added->second.name = added->first.ref();
  return added->second;
}

void ColumnPlan::BeginRow() {
  if (picks_.size() <= kMaxPicks) return;
  picks_.clear();
  plans_.clear();
  last_ = nullptr;
  next_number_ = 0;
  ++generation_;
}

bool ColumnPlan::Selects(const ColumnRef& column) const {
  if (patterns_.empty()) return true;
  const std::string& family = table_->families[column.family].name;
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const ColumnPattern& pattern) {
    return GlobMatches(pattern.family, family) && GlobMatches(pattern.qualifier, column.qualifier);
  });
}

ColumnPlan::Pick ColumnPlan::MakePick(const ColumnRef& column) {
  Pick pick;
  if (column.family >= rules_.size()) return pick;  // Added after this scan's TableInfo was made.
  pick.rule = &rules_[column.family];
  pick.selected = pick.rule->visible && Selects(column);
  if (pick.selected) pick.number = next_number_++;
  for (size_t i = 0; i < telling_.size(); ++i) {
    if (pick.tells < 0 && telling_[i].IsOf(column)) pick.tells = static_cast<int>(i);
  }
  return pick;
}

RowAssembler::RowAssembler(ColumnPlan* plan, const ScanSpec& spec, CellMerge::Versions versions)
    : plan_(plan),
      cells_(spec.cells),
      versions_(spec.versions),
      line_(spec.line),
      counting_(versions == CellMerge::Versions::kNewest || versions_ > 0 || line_ > 0 ||
                plan->counts_versions()),
      merge_(versions),
      teller_(plan->telling()) {}

void RowAssembler::Begin() {
  plan_->BeginRow();
  row_.parts.clear();
  row_.cells.clear();
  arena_.Reset();
  deletes_.clear();
  merge_.BeginRow();
  if (versions_ > 0) returned_.assign(plan_->columns(), 0);
  folds_.Clear();
  merged_.clear();
  ++rows_;
  time_ = -1;
  part_entries_ = 0;
}

// False when the entry is hidden whole.
bool RowAssembler::Begin(TimeUs time, uint64_t sequence) {
  cell_deletes_ = false;
  for (const DeleteRange* range : deletes_) {
    if (range->HidesEntry(time, sequence)) return false;
    cell_deletes_ = cell_deletes_ || range->HidesTime(time, sequence);
  }
  if (time != time_) {
    FinishPart();
    StartTime(time);
  } else if (++part_entries_ == 2) {
    TellFirst();
    if (!counting_) MarkEmitted();
  }
  sequence_ = sequence;
  return true;
}

void RowAssembler::Tell(const ColumnPlan::Pick& pick, const Value& value) {
  if (value.is_null() || (cell_deletes_ && HidesCell(pick.name))) return;
  if (part_entries_ == 1) {
    first_told_.push_back({&pick, value});
  } else {
    teller_.Take(static_cast<size_t>(pick.tells), pick.name.qualifier, value);
  }
}

void RowAssembler::TellFirst() {
  if (plan_->telling().empty()) return;
  teller_.Begin();
  for (const Told& told : first_told_) {
    teller_.Take(static_cast<size_t>(told.pick->tells), told.pick->name.qualifier, told.value);
  }
  teller_.IsAnother();
}

void RowAssembler::End(size_t cells_before, uint32_t writers_before) {
  if (part_entries_ > 1 && !plan_->telling().empty() && teller_.IsAnother()) {
    if (merged_.empty() || merged_.back().time != time_) merged_.push_back({time_, 0});
    ++merged_.back().events;
  }
  if (row_.cells.size() == cells_before) return;
  part_writers_ = writers_before + 1;
  part_set_ = part_writers_ == 1 ? set_ : nullptr;
}

bool RowAssembler::Add(TimeUs time, uint64_t sequence, std::string_view entry) {
  if (!Begin(time, sequence)) return true;
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head)) return false;
  const uint32_t written = part_writers_;
  bool good = false;
  const size_t before = row_.cells.size();
  if (head.tag == EntryTag::kByName) {
    set_ = nullptr;
    good = AddByName(head.number, arena_.Copy(in.rest()));
  } else {
    const ColumnPlan::OfSet* plan = plan_->Set(head.number);
    if (plan == nullptr) return false;
    if (plan->end == 0) return true;
    set_ = plan->set;
    good = AddBySet(*plan, head.tag == EntryTag::kBySetSparse, arena_.Copy(in.rest()));
  }
  End(before, written);
  return good;
}

bool RowAssembler::Add(TimeUs time, uint64_t sequence, const ShapeCells& cells, uint32_t entry) {
  if (!Begin(time, sequence)) return true;
  careful_ = counting_ || cell_deletes_ || part_entries_ > 1 || time < cells.ageless_from;
  if (!careful_ && !cells_.Contains(time)) return true;
  set_ = cells.set;
  const uint32_t written = part_writers_;
  const size_t before = row_.cells.size();
  for (const ShapeCells::OfColumn& column : cells.telling) {
    if (!column.cells.Has(entry)) continue;
    const Value told = column.cells.data->At(column.cells.PlaceOf(entry));
    Tell(*column.pick, part_entries_ == 1 ? Copy(told) : told);
  }
  bool good = true;
  if (careful_ || cells.some_absent) {
    for (size_t i = 0; i < cells.columns.size(); ++i) {
      if (!cells.columns[i].cells.Has(entry)) continue;
      CellView cell = cells.blank[i];
      cell.value = ValueOf(cells.columns[i], entry);
      if (careful_) {
        good = Consider(*cells.columns[i].pick, cell) && good;
      } else {
        row_.cells.push_back(cell);
      }
    }
  } else {
    row_.cells.insert(row_.cells.end(), cells.blank.begin(), cells.blank.end());
    CellView* to = row_.cells.data() + before;
    for (const ShapeCells::OfColumn& column : cells.columns) (to++)->value = ValueOf(column, entry);
  }
  End(before, written);
  return good;
}

// The block may go before the row does.
Value RowAssembler::ValueOf(const ShapeCells::OfColumn& column, uint32_t entry) {
  return Copy(column.cells.data->At(column.cells.PlaceOf(entry)));
}

Value RowAssembler::Copy(const Value& value) {
  if (value.type() == ValueType::kString) return Value::String(arena_.Copy(value.AsView()));
  if (value.type() == ValueType::kBytes) return Value::Bytes(arena_.Copy(value.AsView()));
  return value;
}

bool RowAssembler::AddBySet(const ColumnPlan::OfSet& plan, bool sparse, std::string_view values) {
  careful_ = counting_ || cell_deletes_ || part_entries_ > 1 || time_ < plan.ageless_from;
  if (!careful_ && !cells_.Contains(time_)) return true;
  ByteReader in(values);
  CellView cell;
  for (uint32_t i = 0; i < plan.end; ++i) {
    const ColumnPlan::Pick& pick = plan.picks[i];
    if (!pick.selected && pick.tells < 0) {
      if (!SkipValue(&in)) return false;
      continue;
    }
    if (!DecodeValue(&in, &cell.value)) return false;
    if (cell.value.is_null()) {
      if (!sparse) return false;
      continue;
    }
    if (pick.tells >= 0) {
      Tell(pick, cell.value);
      if (!pick.selected) continue;
    }
    const Column& column = plan.set->columns[i];
    cell.column = column.ref();
    cell.set_index = i;
    if (careful_) {
      if (!Consider(pick, cell)) return false;
    } else {
      row_.cells.push_back(cell);
    }
  }
  return plan.end < plan.picks.size() || in.done();
}

bool RowAssembler::AddByName(uint32_t count, std::string_view cells) {
  ByteReader in(cells);
  CellView cell;
  for (uint32_t i = 0; i < count; ++i) {
    if (!GetColumn(&in, &cell.column) || !DecodeValue(&in, &cell.value) || cell.value.is_null()) {
      return false;
    }
    const ColumnPlan::Pick& pick = plan_->Named(cell.column);
    if (pick.tells >= 0) Tell(pick, cell.value);
    if (pick.selected && !Consider(pick, cell)) return false;
  }
  return in.done();
}

// False: the cell is to be folded, and is no state.
bool RowAssembler::Consider(const ColumnPlan::Pick& pick, const CellView& cell) {
  if (cell_deletes_ && HidesCell(cell.column)) return true;
  const CellMerge::Fate fate = merge_.Take(pick.number, time_, *pick.rule);
  if (fate == CellMerge::Fate::kFolds) return Fold(pick, cell.value);
  if (fate != CellMerge::Fate::kLive) return true;
  if (!cells_.Contains(time_) || (versions_ > 0 && HasEnough(pick.number))) return true;
  if (line_ > 0 && sequence_ >= line_) return true;
  MarkPlace(pick, row_.cells.size());
  row_.cells.push_back(cell);
  return true;
}

// Into the cell of the same column and time, if that is given at all.
bool RowAssembler::Fold(const ColumnPlan::Pick& pick, const Value& value) {
  if (pick.number >= places_.size()) return true;
  const Place& place = places_[pick.number];
  if (place.row != rows_ || place.cell < part_begin_) return true;
  return folds_.Add(*pick.rule->aggregate, place.cell, row_.cells[place.cell].value, value);
}

void RowAssembler::MarkPlace(const ColumnPlan::Pick& pick, size_t place) {
  if (!pick.rule->aggregate) return;
  if (pick.number >= places_.size()) places_.resize(plan_->columns());
  places_[pick.number] = {rows_, place};
}

// Counts the cell if the spec asks for one more of its column.
bool RowAssembler::HasEnough(uint32_t column) {
  if (column >= returned_.size()) returned_.resize(plan_->columns(), 0);
  return ++returned_[column] > versions_;
}

bool RowAssembler::HidesCell(const ColumnRef& column) const {
  return std::any_of(deletes_.begin(), deletes_.end(), [&](const DeleteRange* range) {
    return range->HidesTime(time_, sequence_) && range->HidesColumn(column);
  });
}

void RowAssembler::StartTime(TimeUs time) {
  time_ = time;
  first_told_.clear();
  part_entries_ = 1;
  part_writers_ = 0;
  part_set_ = nullptr;
  part_begin_ = static_cast<uint32_t>(row_.cells.size());
}

// A second entry of the same time came: what the first gave is not to be given again.
void RowAssembler::MarkEmitted() {
  for (size_t i = part_begin_; i < row_.cells.size(); ++i) {
    const ColumnPlan::Pick& pick = plan_->Named(row_.cells[i].column);
    merge_.MarkTaken(pick.number, time_);
    MarkPlace(pick, i);
  }
}

void RowAssembler::FinishPart() {
  const auto end = static_cast<uint32_t>(row_.cells.size());
  if (part_entries_ == 0 || end == part_begin_) return;
  if (!folds_.empty()) {
    folds_.ForEach(
        [&](size_t place, const Value& state) { row_.cells[place].value = Copy(state); });
    folds_.Clear();
  }
  if (part_writers_ > 1) {
    const std::vector<uint16_t>& rank = plan_->table().family_rank;
    std::sort(row_.cells.begin() + part_begin_, row_.cells.end(),
              [&](const CellView& a, const CellView& b) {
                if (a.column.family != b.column.family) {
                  return rank[a.column.family] < rank[b.column.family];
                }
                return a.column.qualifier < b.column.qualifier;
              });
  }
  row_.parts.push_back({time_, part_begin_, end, part_set_});
}

bool RowAssembler::Finish() {
  FinishPart();
  part_entries_ = 0;
  return !row_.parts.empty();
}

}  // namespace tallyd
