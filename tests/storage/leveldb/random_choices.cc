// What a random history does and asks for.
#include <algorithm>

#include "tests/storage/leveldb/random_history.h"

namespace tallyd {
namespace {

// It makes a row of a latest table wide, which then takes up events in another way.
const std::string kLongText(600, 'l');
constexpr TimeUs kStrayTime = 4'102'444'800'000'000;  // The year 2100.

}  // namespace

std::string RandomHistory::RandomRow() {
  std::string row(1 + Random(2), 'a');
  for (char& c : row) c = "abc\0"[Random(4)];
  return row;
}

// Mostly of the last few units, of which some have many events.
TimeUs RandomHistory::RandomTime() {
  const TimeUs today = OneIn(4) ? Now() : kStart + store_.clock.SteadyUs();
  TimeUs time = (today / kUnit - static_cast<TimeUs>(Random(kTimes))) * kUnit;
  if (OneIn(6)) time += static_cast<TimeUs>(Random(3));
  if (OneIn(25))
    time = OneIn(3) ? static_cast<TimeUs>(Random(2))
                    : kStrayTime - static_cast<TimeUs>(Random(kTimes));
  return time;
}

TimeRange RandomHistory::RandomTimes() {
  const TimeUs from = RandomTime();
  return {from, from + 1 + static_cast<TimeUs>(Random(kTimes)) * kUnit};
}

// Disjoint and in order; some are empty, some touch.
std::vector<KeyRange> RandomHistory::RandomRanges() {
  std::vector<std::string> cuts;
  for (uint64_t n = 2 * (1 + Random(4)); n > 0; --n) cuts.push_back(RandomRow());
  std::sort(cuts.begin(), cuts.end());
  if (OneIn(3)) cuts.front().clear();
  if (OneIn(3)) cuts.back().clear();
  std::vector<KeyRange> ranges;
  for (size_t i = 0; i < cuts.size(); i += 2) ranges.push_back({cuts[i], cuts[i + 1]});
  return ranges;
}

std::vector<TestCell> RandomHistory::RandomCells() {
  std::vector<TestCell> cells;
  for (const char* family : {"A", "B"}) {
    for (const char* qualifier : {"x", "y"}) {
      if (OneIn(2)) continue;
      cells.push_back({family, qualifier, Value()});
      Value& value = cells.back().value;
      const auto number = static_cast<int64_t>(Random(1000));
      switch (Random(8)) {
        case 0:
          break;  // An absent field.
        case 1:
          value = Value::String(OneIn(3) ? std::string_view(kLongText) : OneIn(2) ? "text" : "");
          break;
        case 2:
          value = Value::Decimal(number, 2);
          break;
        default:
          value = Value::Int(number);
      }
    }
  }
  if (OneIn(2)) std::reverse(cells.begin(), cells.end());
  return cells;
}

// Of some events more columns than a block may have, where that is made small.
void RandomHistory::AddWideCells(std::vector<TestCell>* cells) {
  if (wide_random_() % 8 != 0) return;
  for (int i = 0; i < 30; ++i) {
    if (wide_random_() % 2 == 0) continue;
    const auto number = static_cast<int64_t>(wide_random_() % 1000);
    cells->push_back({i % 3 == 0 ? "B" : "A", "w" + std::to_string(i), Value::Int(number)});
  }
}

RandomHistory::Op RandomHistory::RandomDelete(const std::string& table) {
  Op op;
  op.table = table;
  op.forget.emplace();
  switch (Random(4)) {
    case 0:
      op.forget->rows = OneRow(RandomRow());
      break;
    case 1:
      op.forget->rows = PrefixRange(RandomRow().substr(0, 1));
      break;
    case 2:
      op.forget->rows = RandomRanges().front();
      break;
    default:
      op.forget->rows = KeyRange{};
      op.forget->cells = RandomTimes();
  }
  if (OneIn(2)) op.forget->cells = RandomTimes();
  if (OneIn(2)) op.forget_family = OneIn(2) ? "A" : "B";
  if (!op.forget_family.empty() && OneIn(2)) op.forget->qualifier = OneIn(2) ? "x" : "y";
  return op;
}

// What families that merge take: numbers, some so great that sums go beyond 64 bits, and sketches.
void RandomHistory::MakeInputs(Op* op) {
  static const std::vector<std::string> kSketches = [] {
    std::vector<std::string> sketches;
    for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
      HyperLogLog sketch;
      sketch.Add(text);
      sketch.Encode(&sketches.emplace_back());
    }
    return sketches;
  }();
  const Table& table = *schema_.FindTable(op->table);
  for (TestCell& cell : op->cells) {
    const std::optional<Aggregate> kind = table.FindFamily(cell.family)->aggregate;
    if (!kind || cell.value.is_null()) continue;
    if (*kind == Aggregate::kHll) {
      cell.value = Value::Bytes(kSketches[Random(kSketches.size())]);
    } else {
      const auto number = static_cast<int64_t>(random_() >> Random(64));
      cell.value = Value::Int(OneIn(3) ? ~number : number);
    }
  }
}

// Of one batch. An event often goes to a history table and to latest ones with the same values.
RandomHistory::Ops RandomHistory::RandomOps() {
  Ops ops;
  for (uint64_t n = 1 + Random(5); n > 0; --n) {
    const std::string table = schema_.tables[1 + Random(schema_.tables.size() - 1)].name;
    if (OneIn(12)) {
      ops.push_back(RandomDelete(table));
      continue;
    }
    Op op;
    op.table = table;
    op.row = RandomRow();
    op.time = RandomTime();
    op.cells = RandomCells();
    AddWideCells(&op.cells);
    op.by_set = !OneIn(3);
    if (op.cells.empty()) continue;
    ops.push_back(op);
    if (!OneIn(3)) continue;
    ops.back().table = "H";
    for (const char* latest : {"L", "R", "LG", "RG"}) {
      op.table = latest;
      if (OneIn(2)) ops.push_back(op);
    }
  }
  for (Op& op : ops) MakeInputs(&op);
  while (memo_random_() % 2 == 0) {
    Op& op = ops.emplace_back();
    op.memo = RandomMemoKey();
    if (memo_random_() % 3 > 0) op.memo_value = std::to_string(memo_random_() % 1000);
  }
  return ops;
}

std::string RandomHistory::RandomMemoKey() {
  return std::string(1 + memo_random_() % 2, "ab\0c"[memo_random_() % 4]);
}

ScanSpec RandomHistory::RandomSpec() {
  ScanSpec spec;
  spec.now = Now();
  if (OneIn(4)) spec.now += (static_cast<int64_t>(Random(20)) - 10) * kUnit;
  if (OneIn(2)) spec.ranges = RandomRanges();
  if (OneIn(4)) spec.limit = 1 + Random(5);
  if (OneIn(2)) spec.cells = RandomTimes();
  if (OneIn(3)) spec.versions = static_cast<uint32_t>(1 + Random(2));
  if (OneIn(3)) spec.columns = {{"A", OneIn(2) ? "*" : "x"}};
  spec.reverse = OneIn(3);
  return spec;
}

Family RandomHistory::RandomRules(const std::string& name) {
  Family family;
  family.name = name;
  if (!OneIn(4)) family.max_age_us = static_cast<int64_t>(3 + Random(9)) * kUnit;
  if (!OneIn(4)) family.max_versions = static_cast<uint32_t>(1 + Random(3));
  return family;
}

}  // namespace tallyd
