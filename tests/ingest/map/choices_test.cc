// Events of a superset's shape become what they become by shapes of their own: random tables,
// random events, each mapped both ways.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ingest/hold/held_counters.h"
#include "tests/ingest/known_fields.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

constexpr const char* kPlain = R"(
[tables.METRIC]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.f = {}
[tables.CURRENT]
stream = "s"
pattern = "latest"
row_key = "{k}"
families.f = {}
)";

// Tables of one stream, whatever they are called.
const std::vector<std::string> kTables = {
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nfamilies.f = {}\n",
    "pattern = \"latest\"\nrow_key = \"{k}\"\nfamilies.f = {}\n",
    "pattern = \"latest\"\nrow_key = \"{k}\"\nkeep = \"row\"\nfamilies.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:day}\"\nwhen = [\"a\"]\nfamilies.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\n"
    "columns = [{ family = \"f\", fields = [\"a\", \"o/*\"] },"
    " { family = \"g\", fields = [\"b\"] }]\n"
    "families.f = { max_age = \"1d\" }\nfamilies.g = { max_age = \"10d\" }\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\n"
    "columns = [{ family = \"f\", names = \"compact\" }]\nfamilies.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\n"
    "columns = [{ family = \"f\", names = \"compact\", fields = [\"Bid size\", \"c\", \"d\"] }]\n"
    "families.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\n"
    "columns = [{ family = \"f\", fields = [\"a\", \"c\"], rename = { a = \"x\" } }]\n"
    "families.f = {}\n",
    "pattern = \"single-timestamp\"\ntime = \"qt\"\nrow_key = \"{k}#{qt:ms}\"\nfamilies.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{b}#{ts:ms}\"\nfamilies.f = {}\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{field}#{ts:ms}\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", name = \"v\", value = \"{value}\" }]\n",
    "pattern = \"single-timestamp-serialized\"\nrow_key = \"{k}#{ts:ms}\"\n"
    "columns = [{ family = \"f\", serialize = \"json\", name = \"blob\" }]\nfamilies.f = {}\n",
    "pattern = \"new-column\"\nrow_key = \"{k}#{ts:day}\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", name = \"{ts:%H%M}\", value = \"{c}\" }]\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", name = \"{a}\", value = \"{c}\" }]\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", name = \"one\", value = \"{c}\" },"
    " { family = \"f\", name = \"two\", value = \"{d}\" }]\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", name = \"text\", value = \"{c}-{d}\" },"
    " { family = \"f\", name = \"always\", value = \"yes\" }]\n",
    "pattern = \"aggregate\"\nrow_key = \"{k}\"\n"
    "families.f = { aggregate = \"sum\", bucket = \"1d\" }\n"
    "families.g = { aggregate = \"max\", bucket = \"1h\", max_age = \"5d\" }\n"
    "columns = [{ family = \"f\", fields = [\"n1\", \"n2\"] }, { family = \"g\", fields = [\"n2\","
    " \"n3\"] }]\n",
    "pattern = \"single-timestamp\"\nrow_key = \"{k}#{ts:ms}\"\nflush = \"10s\"\nfamilies.f = {}\n"
    "columns = [{ family = \"f\", fields = [\"n*\"] }]\n",
};

const std::vector<std::string> kFields = {"k",  "ts", "a",  "b",  "c",        "d",       "qt",
                                          "n1", "n2", "n3", "o/x", "Bid size", "BIDSIZE", "e"};

std::string ShowRows(const PreviewBatch& batch) {
  std::string all;
  for (const PreviewTable& table : batch.Tables()) {
    for (const Row& row : table.rows) {
      all += fmt::format("{} {} |", table.table.name, row.key);
      for (const RowPart& part : row.parts) {
        for (const CellView& cell : row.CellsOf(part)) {
          all += fmt::format(" {}:{}={}@{}", cell.column.family, cell.column.qualifier,
                             ShowValue(cell.value), part.time);
        }
      }
      all += "\n";
    }
  }
  return all;
}

// All that becomes of bodies that follow each other.
class Side {
 public:
  explicit Side(const std::string& tables) : world_(tables) {}

  // With a superset where `shapes` has one.
  std::string Map(std::string_view json, ShapeRegistry& shapes, EventDecoder& decoder) {
    RecordingBatch batch;
    world_.bodies.emplace_back(json);
    const Status status =
        decoder.Decode(*FindBodyFormat(""), world_.bodies.back().view(), shapes, &world_.events);
    if (!status) return status.error().message();
    for (size_t i = 0; i < world_.events.size(); ++i) {
      choices += world_.events.event(i).is_choice() ? 1 : 0;
    }
    world_.arrival += kUsPerSecond;
    HeldCounters counters;
    MapOutcome outcome = world_.mappers.begin()->second->Map(world_.events, world_.arrival, &batch,
                                                             &counters, {.every_row = true});
    by_set += batch.puts_with_set;
    by_name += batch.puts_by_name;
    std::string all = ShowRows(batch.preview) + ShowOutcome(outcome);
    counters.Add(std::move(outcome.increments));
    PreviewBatch held;
    for (const auto& interval : counters.TakeEnded(world_.arrival, true)) {
      HeldCounters::PutRows(*interval, HeldCounters::TableOf(*interval), &held);
    }
    return all + "held:\n" + ShowRows(held) + Learned(batch);
  }

  size_t choices = 0;
  size_t by_set = 0;
  size_t by_name = 0;

 private:
  static std::string ShowOutcome(const MapOutcome& outcome) {
    // Of an event's rows at several times any may be first.
    std::multiset<std::string> lines;
    for (const RowBytes::Entry& entry : outcome.row_bytes.entries()) {
      lines.insert(fmt::format("{} {}@{}: {} bytes\n", entry.table->name, entry.key, entry.time,
                               entry.bytes));
    }
    for (const RowStems::OfTable& touched : outcome.stems.tables()) {
      for (const RowStems::Entry& entry : touched.entries) {
        lines.insert(fmt::format("stem {} {} {}\n", touched.table, touched.StemOf(entry),
                                 entry.rows.time));
      }
    }
    std::string all =
        fmt::format("events {} expired {} held {} rows {} cells {} large {}\n", outcome.events,
                    outcome.expired, outcome.held, outcome.rows, outcome.cells,
                    outcome.large_values);
    for (const std::string& line : lines) all += line;
    return all + fmt::format("{} errors\n", outcome.errors.count()) + World::Errors(outcome);
  }
  // The store learns it, too.
  std::string Learned(const RecordingBatch& batch) {
    std::string all;
    for (const auto& [field, types] : batch.fields) {
      all += fmt::format("{} has {}\n", field, types);
      FieldInfo info;
      info.name = field;
      info.type_bits = types;
      world_.store->fields.push_back(info);
    }
    for (const std::string& field : batch.spellings) all += "spelled " + field + "\n";
    for (const auto& [field, how] : batch.missed) all += fmt::format("missed {} {}\n", field, how);
    return all;
  }

  World world_;
};

class Chances {
 public:
  explicit Chances(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  bool OneIn(size_t n) { return Below(n) == 0; }

  std::string Tables() {
    std::string all;
    const size_t tables = 1 + Below(3);
    const bool plain = OneIn(3);
    for (size_t i = 0; i < tables; ++i) {
      const size_t which = plain ? Below(3) : Below(kTables.size());
      all += fmt::format("[tables.T{}]\nstream = \"s\"\n{}", i, kTables[which]);
    }
    return all;
  }

  std::string Body() {
    std::string all = "[";
    const size_t events = 1 + Below(12);
    for (size_t i = 0; i < events; ++i) all += (i == 0 ? "" : ",") + AnEvent();
    return all + "]";
  }

 private:
  std::string AnEvent() {
    std::vector<std::string> fields = kFields;
    if (OneIn(4)) std::shuffle(fields.begin(), fields.end(), random_);
    if (OneIn(12)) fields.push_back("new" + std::to_string(Below(1000)));
    if (OneIn(20)) fields.push_back(fields[Below(fields.size())]);
    const size_t sparse = OneIn(8) ? 9 : 2;
    std::string members;
    for (const std::string& field : fields) {
      const bool mostly = (field == "k" || field == "ts") && !OneIn(25);
      if (!mostly && !(sparse == 9 ? OneIn(9) : OneIn(2))) continue;
      members += (members.empty() ? "" : ",") + Member(field);
    }
    return "{" + members + "}";
  }
  std::string Member(const std::string& field) {
    const size_t slash = field.find('/');
    if (slash != field.npos && !OneIn(4)) {
      return fmt::format("\"{}\":{{\"{}\":{}}}", field.substr(0, slash), field.substr(slash + 1),
                         ValueOf(field));
    }
    return fmt::format("\"{}\":{}", field, ValueOf(field));
  }
  std::string ValueOf(const std::string& field) {
    if (OneIn(12)) return "null";
    if (field == "k") return fmt::format("\"k{}\"", Below(3));
    if (field == "ts" || field == "qt") {
      if (OneIn(30)) return "\"never\"";
      const TimeUs days = OneIn(3) ? static_cast<TimeUs>(Below(14)) : 0;
      return std::to_string((World::kArrival - days * kUsPerDay) / kUsPerMs +
                            static_cast<TimeUs>(Below(5)));
    }
    if (field[0] == 'n') return OneIn(20) ? "1.5" : std::to_string(Below(100));
    switch (Below(5)) {
      case 0:
        return "true";
      case 1:
        return "\"text\"";
      case 2:
        return "\"7\"";
      case 3:
        return "2.5";
      default:
        return std::to_string(Below(100));
    }
  }

  std::mt19937_64 random_;
};

TEST(ChoicesTest, AnEventBecomesWhatItBecomesByItsOwnShape) {
  size_t choices = 0;
  size_t by_set = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Chances chances(seed);
    const std::string tables = chances.Tables();
    Side side(tables);
    Side own(tables);
    ShapeRegistry shapes;
    EventDecoder decoder;
    KnowFields({kFields.begin(), kFields.end()}, &shapes);
    ShapeRegistry full;
    EventDecoder plain;
    for (size_t i = 0; i < ShapeRegistry::kMaxShapes; ++i) {
      const std::string name = fmt::format("other{}", i);
      const std::string_view names[] = {name};
      full.Intern(names);
    }
    for (int round = 0; round < 20; ++round) {
      const std::string body = chances.Body();
      const std::string want = own.Map(body, full, plain);
      ASSERT_EQ(side.Map(body, shapes, decoder), want) << seed << "\n" << tables << body;
    }
    ASSERT_EQ(own.choices, 0u);
    choices += side.choices;
    by_set += side.by_set;
  }
  EXPECT_GT(choices, 1000u);
  EXPECT_GT(by_set, 1000u);
}

TEST(ChoicesTest, TheColumnsOfEventsThatNeverRecurAreOneSet) {
  Side side(kPlain);
  ShapeRegistry shapes;
  EventDecoder decoder;
  KnowFields({kFields.begin(), kFields.end()}, &shapes);
  side.Map(R"([{"k":"a","ts":1,"a":1,"c":2},{"k":"a","ts":2,"d":1,"o":{"x":2}}])", shapes, decoder);
  EXPECT_EQ(side.choices, 2u);
  EXPECT_EQ(side.by_set, 4u);
  EXPECT_EQ(side.by_name, 0u);
  side.Map(R"([{"k":"a","ts":1,"a":1,"never met":2},{"ts":2,"d":1,"e":3}])", shapes, decoder);
  EXPECT_EQ(side.choices, 2u) << "one has a new field, the other lacks one of the row key's";
}

TEST(ChoicesTest, TablesThatChoicesDoNotSuitLetDecodersKnow) {
  Side side(
      "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp-serialized\"\n"
      "row_key = \"{k}#{ts:ms}\"\nfamilies.f = {}\n");
  ShapeRegistry shapes;
  EventDecoder decoder;
  KnowFields({kFields.begin(), kFields.end()}, &shapes);
  side.Map(R"({"k":"a","ts":1,"a":1,"c":2})", shapes, decoder);
  EXPECT_EQ(side.choices, 1u);
  EXPECT_EQ(shapes.superset(), nullptr);
  side.Map(R"({"k":"a","ts":1,"d":1,"c":2})", shapes, decoder);
  EXPECT_EQ(side.choices, 1u);
}

}  // namespace
}  // namespace tallyd
