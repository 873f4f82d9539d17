// Random events through every pattern, and back.
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "storage/leveldb_store.h"
#include "tests/ingest/reading.h"
#include "tests/ingest/test_data.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

class PatternsTest : public ::testing::Test {
 protected:
  static std::string AllPatterns() {
    auto table = [](const char* name, const char* pattern, const char* key, const char* columns) {
      return fmt::format(
          "[tables.{}]\nstream = \"s\"\npattern = \"{}\"\nrow_key = \"{}\"\n{}\n"
          "families.f = {{}}\n",
          name, pattern, key, columns);
    };
    const char* plain = "{place}#{n:zero(4)}#{ts:us}";
    const char* week = "{place}#{n:zero(4)}#{ts:week}";
    return table("PLAIN", "single-timestamp", plain, "") +
           table("BLOB", "single-timestamp-serialized", plain, "") +
           table("JSON", "single-timestamp-serialized", week,
                 "columns = [{family = \"f\", serialize = \"json\"}]") +
           table("CBOR", "single-timestamp-serialized", week,
                 "columns = [{family = \"f\", serialize = \"cbor\"}]") +
           table("CELL", "new-cell", week, "") +
           table("CELLBLOB", "new-cell-serialized", week, "") +
           table("COLUMN", "new-column", "{place}#{n:zero(4)}#{field}#{ts:week}", "") +
           table("LATEST", "latest", plain, "");
  }

  std::string RandomText() {
    constexpr std::string_view kLetters = "ab#%\x7f\"\\ é/=|";
    std::string text = "t";  // Never the spelling of a number.
    for (size_t i = 0, n = random_() % 6; i < n; ++i) text += kLetters[random_() % 7];
    return text;
  }
  std::string Json(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    return quoted + "\"";
  }
  std::string RandomValue() {
    switch (random_() % 5) {
      case 0:
        return std::to_string(static_cast<int64_t>(random_()) * (random_() % 2 ? 1 : -1));
      case 1:
        return fmt::format("{}.{:02}", random_() % 1000, random_() % 100);
      case 2:
        return fmt::format("{}e{}", random_() % 1000, static_cast<int>(random_() % 40) - 20);
      case 3:
        return Json(RandomText());
      default:
        return std::to_string(random_() % 10);
    }
  }

  std::string RandomBody() {
    std::string body = "[";
    for (int i = 0; i < 40; ++i) {
      body +=
          fmt::format("{}{{\"place\":{},\"n\":{},\"ts\":{}.{:03}", i == 0 ? "" : ",",
                      Json(RandomText()), random_() % 3, (last_ms_ += 9'000'000), random_() % 1000);
      for (int f = 0; f < 6; ++f) {
        if (random_() % 4 != 0) body += fmt::format(",\"m{}\":{}", f, RandomValue());
      }
      body += fmt::format(",\"x\":{{\"y\":{}}}}}", RandomValue());
    }
    return body + "]";
  }

  std::mt19937_64 random_{20211121};
  int64_t last_ms_ = 1'600'000'000'000;  // Of the last event.
};

constexpr const char* kOtherTables[] = {"BLOB",     "JSON",   "CBOR",  "CELL",
                                        "CELLBLOB", "COLUMN", "LATEST"};

TEST_F(PatternsTest, EveryPatternGivesEqualEventsBack) {
  World world(AllPatterns());
  for (int round = 0; round < 50; ++round) {
    const MapOutcome outcome = world.Map(RandomBody());
    ASSERT_TRUE(outcome.errors.empty()) << World::Errors(outcome);
    const std::string want = Reading(world, "PLAIN").Events();
    ASSERT_EQ(std::ranges::count(want, '\n'), 40);
    for (const char* table : kOtherTables) {
      ASSERT_EQ(Reading(world, table).Events(), want) << table << " in round " << round;
    }
  }
}

TEST_F(PatternsTest, NaughtyStringsComeBackAsTheyWere) {
  const auto file = TestData() / "naughty-strings/blns.json";
  const auto strings = nlohmann::json::parse(std::ifstream(file));
  ASSERT_GT(strings.size(), 100u);
  World world(AllPatterns());
  int64_t ts = 0;
  for (const std::string text : strings) {
    const std::string key = text.empty() ? "empty" : text;
    const nlohmann::json event = {
        {"place", key}, {"n", 1}, {"ts", ++ts}, {"v", "." + text}, {"f" + text, true}};
    const MapOutcome outcome = world.Map(event.dump());
    ASSERT_TRUE(outcome.errors.empty()) << World::Errors(outcome);
    const std::string want = Reading(world, "PLAIN").Events();
    ASSERT_NE(want.find(" place=" + ShowValue(ValueFromText(key))), std::string::npos) << want;
    ASSERT_NE(want.find(" v='." + text + "'\n"), std::string::npos) << want;
    ASSERT_NE(want.find(" f" + text + "=true "), std::string::npos) << want;
    for (const char* table : {"BLOB", "JSON", "CBOR", "CELL", "LATEST"}) {
      ASSERT_EQ(Reading(world, table).Events(), want) << table;
    }
  }
}

// The same through the real store, which brings column sets back.
class StoredPatternsTest : public PatternsTest {
 protected:
  StoredPatternsTest() : world_(AllPatterns()) {
    std::string pattern = std::filesystem::temp_directory_path() / "tallyd-ingest-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    LevelDbStoreOptions options;
    options.storage.path = folder_ / "data";
    options.storage.ballast = 0;
    options.clock = &clock_;
    options.registry = &registry_;
    store_ = std::move(OpenLevelDbStore(options).value());
    EXPECT_TRUE(store_->Adopt(*world_.schema));
  }
  ~StoredPatternsTest() override {
    store_->Close();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Store(const std::string& body) {
    const Padded padded(body);
    const auto& stream = world_.schema->streams[0];
    Mapper mapper(world_.schema, stream, *store_);
    ASSERT_TRUE(
        world_.decoder.Decode(*FindBodyFormat(""), padded.view(), world_.shapes, &world_.events));
    auto batch = store_->NewBatch();
    ASSERT_TRUE(mapper.Map(world_.events, World::kArrival, batch.get()).errors.empty());
    ASSERT_TRUE(store_->Commit(std::move(batch)));
  }

  std::string Read(const char* name, const std::vector<std::string>& globs = {}) {
    std::vector<std::string> names;
    for (const FieldInfo& field : store_->Fields("s")) names.push_back(field.name);
    const TablePtr stored = store_->FindTable(name);
    Reading reading(*world_.schema->FindTable(name), stored, names, globs);
    ScanSpec spec;
    spec.columns = reading.patterns();
    spec.now = World::kArrival;
    const auto scan = store_->Scan(stored, spec);
    while (true) {
      const Result<bool> more = scan->Next();
      EXPECT_TRUE(more);
      if (!more || !*more) break;
      reading.Read(scan->row());
    }
    return reading.Events();
  }

  World world_;
  std::filesystem::path folder_;
  SystemClock clock_;
  prometheus::Registry registry_;
  std::unique_ptr<tallyd::Store> store_;
};

TEST_F(StoredPatternsTest, EveryPatternGivesEqualEventsBack) {
  for (int round = 0; round < 5; ++round) ASSERT_NO_FATAL_FAILURE(Store(RandomBody()));
  const std::string want = Read("PLAIN");
  ASSERT_EQ(std::ranges::count(want, '\n'), 5 * 40);
  for (const char* table : kOtherTables) EXPECT_EQ(Read(table), want) << table;
}

TEST_F(StoredPatternsTest, EveryPatternGivesEqualSelectionsBack) {
  for (int round = 0; round < 5; ++round) ASSERT_NO_FATAL_FAILURE(Store(RandomBody()));
  const std::string want = Read("PLAIN", {"m1", "x/*"});
  ASSERT_EQ(std::ranges::count(want, '\n'), 5 * 40);
  for (const char* table : kOtherTables) EXPECT_EQ(Read(table, {"m1", "x/*"}), want) << table;
}

}  // namespace
}  // namespace tallyd
