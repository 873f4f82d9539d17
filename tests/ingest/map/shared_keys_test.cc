// Keys of several tables made of one event: what they share is made once, and is the same as if
// each were made alone.
#include "ingest/map/shared_keys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/ingest/world.h"

namespace tallyd {
namespace {

struct Template {
  std::string key;
  bool is_latest = false;
  std::string time = "ts";
  std::string more = {};  // Of the table.
};

const std::vector<Template>& Templates() {
  static const std::vector<Template> templates = {
      {"{a}#{b:pad(12)}#{ts:ms}"},
      {"{a}#{b:pad(12)}#{t2:ms}", false, "t2"},
      {"{a}#{b:pad(12)}#{ts:s}"},
      {"{a}#{b:pad(14)}#{ts:ms}"},
      {"{a}#{b}", true},
      {"{a}", true},
      {"{a}#{field}#{ts:ms}"},
      {"{a}#{n:zero(6)}#{ts:reverse(ms)}"},
      {"{a}#{n}/{ts:ms}#{b}"},
      {"{a}#{n}/{t2:ms}#{b}", false, "t2"},
      {"{n}x{a}", true},
      {"{n}", true},
      {"{ts:ms}#{a}#x"},
      {"{ts:ms}#{a}#{b}"},
      {"{ts:ms}#{a}#{ts}"},
      {"p#{a}#{ts:day}#{ts:ms}"},
      {"p#{a}#{ts:day}#{t2}"},
      {"p#{a}", true},
      // Expired.
      {"{a}#{b:pad(12)}#{old:ms}", false, "old", "max_age = \"1h\""},
      // Sixteen parts, seventeen, and more.
      {"{a}#{n}#{a}#{n}#{a}#{n}#{a}#{n}#"},
      {"{a}#{n}#{a}#{n}#{a}#{n}#{a}#{n}#{a}"},
      {"{a}#{n}#{a}#{n}#{a}#{n}#{a}#{n}#{b}"},
      {"{a}#{n}#{a}#{n}#{a}#{n}#{a}#{n}#{a}#{n}#{ts:ms}"},
  };
  return templates;
}

std::string TableText(size_t number, const Template& of) {
  return fmt::format(
      "[tables.T{:02}]\nstream = \"s\"\npattern = \"{}\"\ntime = \"{}\"\nrow_key = \"{}\"\n"
      "families.F = {{ {} }}\n",
      number, of.is_latest ? "latest" : "single-timestamp", of.time, of.key, of.more);
}

constexpr const char* kStream = "[streams.s]\ntime = \"ts\"\nunit = \"ms\"\n";

// Rows with their stems, as one table's or all tables' worlds have them.
std::string RowsOf(World& world, std::string_view body) {
  const MapOutcome outcome = world.Map(body);
  EXPECT_EQ(World::Errors(outcome), "");
  std::string all = world.Rows();
  for (const RowStems::OfTable& touched : outcome.stems.tables()) {
    for (const RowStems::Entry& entry : touched.entries) {
      all += fmt::format("{} {} {}\n", touched.StemOf(entry), entry.rows.time, entry.rows.is_whole);
    }
  }
  return all;
}

std::string RandomBody(std::mt19937_64& random) {
  const std::vector<std::string> texts = {"x", "a#b",      "50%", "long name",   "a/b",
                                          "7", "\xc3\xa9", "#",   "012345678901"};
  const auto text = [&] { return texts[random() % texts.size()]; };
  const uint64_t time = 1'700'000'000'000 + random() % 3;
  const uint64_t other = random() % 2 == 0 ? time : time + random() % 100'000;
  const std::string a = random() % 4 == 0 ? std::to_string(random() % 1000) : "\"" + text() + "\"";
  return fmt::format(R"({{"a":{},"b":"{}","n":{},"ts":{},"t2":{},"old":9,"v":1.5,"w":"z"}})", a,
                     text(), random() % 100'000, time, other);
}

TEST(SharedKeysTest, KeysOfTablesTogetherAreThoseOfEachAlone) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<Template> templates = Templates();
    std::ranges::shuffle(templates, random);
    templates.resize(2 + random() % 6);
    std::string body = "[" + RandomBody(random);
    for (int i = 0; i < 20; ++i) body += "," + RandomBody(random);
    body += "]";

    std::string all = kStream;
    std::string rows;
    std::string stems;
    for (size_t i = 0; i < templates.size(); ++i) {
      all += TableText(i, templates[i]);
      World alone(kStream + TableText(i, templates[i]));
      const std::string told = RowsOf(alone, body);
      const size_t of_rows = alone.Rows().size();
      rows += told.substr(0, of_rows);
      stems += told.substr(of_rows);
    }
    World together(all);
    EXPECT_EQ(RowsOf(together, body), rows + stems) << all;
  }
}

TEST(SharedKeysTest, ARowSharesWhatBeginsAsTheOneBeforeItDoes) {
  World world(kStream + TableText(0, {"{a}#{b}#{ts:ms}"}) +
              TableText(1, {"{a}#{b}#{t2:ms}", false, "t2"}) + TableText(2, {"{a}", true}) +
              TableText(3, {"{b}", true}));
  world.Map(R"({"a":"x","b":"y","ts":1,"t2":2,"v":3})");
  const Shape& shape = *world.events.event(0).shape;
  std::deque<MappedTable> tables;
  TableMappings mappings;
  for (const auto& table : world.schema->tables) {
    tables.emplace_back(table, world.store->FindTable(table.name));
    mappings.push_back(CompileTableMapping(tables.back(), shape, {}, world.store.get()));
  }
  NumberRows(&mappings);
  const auto shared = [&](size_t table) {
    const SharedKey& of = mappings[table].rows.front().shared;
    return std::pair(of.parts, of.parts_at_one_time);
  };
  using Parts = std::pair<uint16_t, uint16_t>;
  EXPECT_EQ(shared(0), Parts(0, 0));
  EXPECT_EQ(shared(1), Parts(4, 5));
  EXPECT_EQ(shared(2), Parts(1, 1));
  EXPECT_EQ(shared(3), Parts(0, 0));
}

}  // namespace
}  // namespace tallyd
