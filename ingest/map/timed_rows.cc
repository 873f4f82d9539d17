#include "ingest/map/timed_rows.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace tallyd {
namespace {

// Names that change faster are too many.
constexpr int64_t kLeastStep = 60 * kUsPerSecond;

// The time's spec, if the part is a time that comes again; null: it is none.
const Spec* RecurringTime(const TextPart& part) {
  const auto* time = std::get_if<TimePart>(&part);
  if (time == nullptr || !time->segment->is_time) return nullptr;
  const Spec& spec = time->segment->spec;
  return spec.bounds_time ? nullptr : &spec;
}

void AppendName(const TextMapping& name, TimeUs time, std::string* out) {
  for (const TextPart& part : name.parts) {
    if (const auto* text = std::get_if<std::string>(&part)) {
      *out += *text;
    } else {
      AppendTimeSpec(std::get<TimePart>(part).segment->spec, time, out);
    }
  }
}

bool IsTaken(const CellMapping& cell, std::string_view name) {
  return std::ranges::any_of(cell.taken, [&](const auto& taken) { return taken.first == name; });
}

}  // namespace

std::shared_ptr<TimedRows> TimedRows::Make(const MappedTable& table, const RowMapping& row,
                                           Store* store) {
  // Inputs of aggregates are looked at one by one.
  if (MergesInputs(table.table)) return nullptr;
  int64_t step = kUsPerDay;
  for (const CellMapping& cell : row.cells) {
    for (const TextPart& part : cell.name.parts) {
      if (std::holds_alternative<std::string>(part)) continue;
      const Spec* const spec = RecurringTime(part);
      if (spec == nullptr) return nullptr;
      step = std::gcd(step, TextStep(*spec));
    }
  }
  if (step < kLeastStep) return nullptr;
  return std::shared_ptr<TimedRows>(new TimedRows(table, row, step, store));
}

const RowMapping* TimedRows::Find(TimeUs time) {
  std::string names;
  for (const CellMapping& cell : cells_) {
    if (cell.name.is_constant()) continue;
    AppendName(cell.name, time, &names);
    names += '\0';
  }
  const std::lock_guard lock(mutex_);
  auto found = known_.find(names);
  if (found == known_.end()) {
    if (known_.size() >= kMaxLists) return nullptr;
    found = known_.try_emplace(std::move(names)).first;
  }
  Known& known = found->second;
  if (known.times < kRecurs && ++known.times == kRecurs) known.row = Learn(time);
  return known.row.get();
}

std::unique_ptr<const RowMapping> TimedRows::Learn(TimeUs time) {
  auto row = std::make_unique<RowMapping>();
  row->cells = CellsAt(time);
  if (row->cells.empty() || table_.timed_lists.fetch_add(1) >= kMaxLists) return nullptr;
  InternColumns(*table_.info, false, &store_, row.get());
  if (row->set == nullptr) return nullptr;
  return row;
}

std::vector<CellMapping> TimedRows::CellsAt(TimeUs time) const {
  std::vector<CellMapping> cells = cells_;
  std::vector<std::pair<FamilyId, std::string>> names;
  for (CellMapping& cell : cells) {
    std::string name;
    AppendName(cell.name, time, &name);
    // What is refused is refused with its reasons where names are rendered.
    if (name.size() > kMaxQualifierBytes || IsTaken(cell, name)) return {};
    cell.name.parts.assign(1, name);
    cell.taken.clear();
    names.emplace_back(cell.family, std::move(name));
  }
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) return {};
  return cells;
}

}  // namespace tallyd
