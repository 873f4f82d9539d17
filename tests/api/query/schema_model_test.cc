// Random streams under random schemas that change while events come: every answer equals a small
// model's, or says that it may not. Where a table has been there from the start and takes
// everything, it must be the former.
//
// TALLYD_HISTORIES (default 60) says how many histories are played, TALLYD_SEED which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "config/schema/table_rules.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr int64_t kNowMs = 1'700'000'000'000;
constexpr int64_t kSpanMs = 3 * 3'600'000;
const std::vector<std::string> kHosts = {"a", "b#1", "web 1", "ü"};
const std::vector<std::string> kFields = {"n", "x", "s", "ok", "m"};

uint64_t NumberIn(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  bool Is(double share) { return static_cast<double>(random_() % 10'000) < share * 10'000; }
  template <class T>
  const T& Of(const std::vector<T>& items) {
    return items[Below(items.size())];
  }

 private:
  std::mt19937_64 random_;
};

// A table of a random schema, as the file writes it.
std::string RandomColumns(Chance* chance) {
  const auto some_fields = [&] {
    std::string list;
    for (const std::string& field : kFields) {
      if (chance->Is(0.5)) list += (list.empty() ? "\"" : ", \"") + field + "\"";
    }
    return list.empty() ? std::string("\"n\"") : list;
  };
  switch (chance->Below(8)) {
    case 0:
      return fmt::format(R"({{ family = "F", fields = [{}] }})", some_fields());
    case 1:
      return R"({ family = "F", fields = ["n", "s"] }, { family = "G", fields = ["x", "m"] })";
    case 2:
      return R"({ family = "F", rename = { n = "number", s = "x2" } })";
    case 3:
      return fmt::format(R"({{ family = "F", name = "b", serialize = "{}" }})",
                         chance->Of<std::string>({"json", "cbor", "protobuf"}));
    case 4:
      return R"({ family = "F", fields = ["n", "ok"], value = "v={value}" },
                { family = "G", fields = ["x", "s"] })";
    case 5:
      return R"({ family = "F", name = "c", value = "{n}|{x}" }, { family = "G", fields = ["s"] })";
    case 6:
      return R"({ family = "F", name = "s", value = "{s}" }, { family = "G", name = "{field}" })";
    default:
      return R"({ family = "F", names = "compact" })";
  }
}

std::string RandomTable(const std::string& name, Chance* chance) {
  const bool own_time = chance->Is(0.1);
  const std::string time = own_time ? "qt" : "ts";
  const auto key = [&](const char* before, const char* spec) {
    return std::string(before) + "{" + time + ":" + spec + "}";
  };
  std::string pattern = "single-timestamp";
  std::string row_key;
  std::string columns;
  switch (chance->Below(7)) {
    case 0:
      row_key = key("{host}#", "ms");
      break;
    case 1:
      row_key = key("{host:pad(6)}#", "reverse(ms)");
      break;
    case 2:
      pattern = "new-cell";
      row_key = key("{host}#", chance->Is(0.5) ? "day" : "bucket(30m)");
      break;
    case 3:
      pattern = "new-column";
      row_key = key("{host}#{field}#", "hour");
      break;
    case 4:
      pattern = "single-timestamp-serialized";
      row_key = key("{host}#", "us");
      break;
    case 5:
      pattern = "new-cell-serialized";
      row_key = key("{host}#", chance->Is(0.5) ? "hour" : "year");
      break;
    default:
      pattern = "latest";
      row_key = "{host}";
      break;
  }
  const bool may_have_columns = pattern != "new-column" && !pattern.ends_with("-serialized");
  columns = may_have_columns && chance->Is(0.6) ? RandomColumns(chance) : "{ family = \"F\" }";
  std::string table = fmt::format(
      "[tables.{}]\nstream = \"s\"\npattern = \"{}\"\nrow_key = \"{}\"\ncolumns = [{}]\n"
      "families.G = {{}}\nfamilies.F = {{{}}}\n",
      name, pattern, row_key, columns, chance->Is(0.1) ? " max_age = \"1h\" " : "");
  if (own_time) {
    table += "time = \"qt\"\nwhen = [\"qt\"]\n";
  } else if (chance->Is(0.15)) {
    table += "when = [\"" + chance->Of(kFields) + "\"]\n";
  }
  return table;
}

struct Sent {
  std::string host;
  int64_t ts = 0;
  json fields;  // With host and times.
};

class History {
 public:
  explicit History(uint64_t seed) : chance_(seed), has_all_(chance_.Is(0.5)) {
    ChangeTables();
    world_ = std::make_unique<ApiWorld>(Toml());
    current_ = tables_;
  }

  void Play() {
    for (int step = 0; step < 24 && !testing::Test::HasFailure(); ++step) {
      const size_t what = chance_.Below(12);
      if (what < 6) {
        Post();
      } else if (what < 9) {
        ChangeSchema();
      } else if (what == 9) {
        ASSERT_TRUE(world_->context().store.Settle());
      } else if (what == 10 && chance_.Is(0.3)) {
        Delete();
      }
      for (int i = 0; i < 3; ++i) Ask();
    }
  }

  size_t whole = 0;
  size_t partial = 0;

 private:
  std::string Toml() const {
    std::string toml;
    if (has_all_) {
      toml =
          "[tables.ALL]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
          "row_key = \"{host}#{ts:us}\"\nfamilies.F = {}\n";
    }
    for (const auto& [name, table] : tables_) toml += table;
    return toml;
  }

  void ChangeTables() {
    for (int i = 0; i < 1 + static_cast<int>(chance_.Below(3)); ++i) {
      const std::string name = "T" + std::to_string(chance_.Below(4));
      if (tables_.contains(name) && chance_.Is(0.4) && (has_all_ || tables_.size() > 1)) {
        tables_.erase(name);
      } else {
        tables_[name] = RandomTable(name, &chance_);
      }
    }
  }

  // A schema that the store refuses changes nothing.
  void ChangeSchema() {
    ChangeTables();
    const bool restart = chance_.Is(0.3);
    const bool adopted = restart ? world_->Restart(Toml()) : world_->Reload(Toml());
    if (adopted) {
      current_ = tables_;
      return;
    }
    tables_ = current_;
    ASSERT_TRUE(world_->Reload(Toml())) << Toml();
  }

  json RandomValue(const std::string& field) {
    if (field == "n") return chance_.Below(100);
    if (field == "x") return static_cast<double>(chance_.Below(1000)) / 8;
    if (field == "s") {
      return chance_.Of<std::string>({"up", "down", "a|b", "v=1", "", chance_.Is(0.1) ? "7" : "z"});
    }
    if (field == "ok") return chance_.Is(0.5);
    return chance_.Is(0.5) ? json(chance_.Below(9)) : json("m" + std::to_string(chance_.Below(9)));
  }

  void Post() {
    json batch = json::array();
    std::vector<Sent> events;
    for (size_t i = 0; i < 1 + chance_.Below(5); ++i) {
      Sent event;
      event.host = chance_.Of(kHosts);
      event.ts = NewTime();
      event.fields = {{"host", event.host}, {"ts", event.ts}};
      if (chance_.Is(0.2)) event.fields["qt"] = NewTime();
      for (const std::string& field : kFields) {
        if (chance_.Is(0.6)) event.fields[field] = RandomValue(field);
      }
      batch.push_back(event.fields);
      events.push_back(std::move(event));
    }
    // Where tables forget by age, one by one: what all of them find too old is told and not stored.
    if (Toml().find("max_age") == std::string::npos) return PostBatch(batch, events);
    for (const Sent& event : events) PostBatch(json::array({event.fields}), {event});
  }

  void PostBatch(const json& batch, const std::vector<Sent>& events) {
    const Response response = world_->Post("s", batch.dump());
    ASSERT_TRUE(response.status == 200 || response.status == 400) << batch;
    if (response.status != 200 || json::parse(response.body)["rows"] == 0) return;
    events_.insert(events_.end(), events.begin(), events.end());
  }

  int64_t NewTime() {
    while (true) {
      const int64_t time = kNowMs - 1 - static_cast<int64_t>(chance_.Below(kSpanMs));
      if (times_.insert(time).second) return time;
    }
  }

  void Delete() {
    const std::string& host = chance_.Of(kHosts);
    const Response response = world_->Call(DeleteEvents, {"s"}, "host=" + Encoded(host));
    if (response.status == 200) {
      std::erase_if(events_, [&](const Sent& event) { return event.host == host; });
    }
  }

  static std::string Encoded(const std::string& text) {
    std::string encoded;
    for (const char c : text) encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return encoded;
  }

  void Ask() {
    Query query;
    if (chance_.Is(0.7)) {
      for (const std::string& field : kFields) {
        if (chance_.Is(0.35)) query.fields.push_back(field);
      }
    }
    if (chance_.Is(0.6)) query.host = chance_.Of(kHosts);
    if (chance_.Is(0.5)) query.from = kNowMs - static_cast<int64_t>(chance_.Below(kSpanMs));
    if (chance_.Is(0.2)) query.n = static_cast<int64_t>(chance_.Below(100));
    std::string text = "scan=1&limit=1000000";
    for (const std::string& field : query.fields) text += "&fields=" + field;
    if (query.host) text += "&host=" + Encoded(*query.host);
    if (query.from) text += "&from=" + std::to_string(*query.from);
    if (query.n) text += "&n=" + std::to_string(*query.n);
    const Response response = world_->Call(GetEvents, {"s"}, text);
    // No table may hold what is asked for, or the field be unknown.
    if (response.status == 422 || response.status == 400) {
      if (has_all_ && !events_.empty()) {
        EXPECT_EQ(response.status, 400u) << text << response.body << Toml();
      }
      return;
    }
    ASSERT_EQ(response.status, 200u) << text << response.body;
    Check(query, text, json::parse(response.body));
  }

  struct Query {
    std::vector<std::string> fields;
    std::optional<std::string> host;
    std::optional<int64_t> from;
    std::optional<int64_t> n;
  };

  void Check(const Query& query, const std::string& text, const json& answer) {
    const json& plan = answer["plan"];
    if (plan.contains("complete")) {
      ++partial;
      EXPECT_FALSE(plan.value("note", "").empty()) << plan;
      // Text that spells a number, and a bool, are told as such; otherwise ALL is whole.
      if (has_all_) ADD_FAILURE() << text << "\n" << plan << "\n" << Toml();
      return;
    }
    ++whole;
    const auto snapshot = world_->context().snapshot();
    const Table& table = *snapshot->schema->FindTable(plan["table"].get<std::string>());
    EXPECT_EQ(RowsOf(answer), Expected(query, table)) << text << "\n" << plan << "\n" << Toml();
  }

  static std::map<std::pair<int64_t, std::string>, json> RowsOf(const json& answer) {
    std::map<std::pair<int64_t, std::string>, json> rows;
    for (const json& row : answer["rows"]) {
      json fields = json::object();
      for (size_t i = 0; i < row.size(); ++i) {
        if (!row[i].is_null()) fields[answer["columns"][i].get<std::string>()] = row[i];
      }
      const auto time = fields["ts"].get<int64_t>();
      fields.erase("ts");
      rows[{time, fields.value("host", "")}] = fields;
    }
    return rows;
  }

  std::map<std::pair<int64_t, std::string>, json> Expected(const Query& query,
                                                           const Table& table) const {
    std::map<std::pair<int64_t, std::string>, json> rows;
    for (const Sent& event : events_) {
      if (query.host && event.host != *query.host) continue;
      if (query.n && (!event.fields.contains("n") || event.fields["n"] != *query.n)) continue;
      if (!event.fields.contains(table.time_field)) continue;
      const auto time = event.fields[table.time_field].get<int64_t>();
      if (query.from && time < *query.from) continue;
      json fields = {{"host", event.host}};
      bool has_asked = query.fields.empty();
      for (const auto& [name, value] : event.fields.items()) {
        const bool asked = std::count(query.fields.begin(), query.fields.end(), name) > 0;
        has_asked = has_asked || asked;
        if (name == table.time_field || name == "ts") continue;
        if (asked || (query.fields.empty() && TableHolds(table, name))) fields[name] = value;
      }
      if (has_asked) rows[{time, event.host}] = fields;
    }
    return rows;
  }

  Chance chance_;
  const bool has_all_;
  std::map<std::string, std::string> tables_;
  std::map<std::string, std::string> current_;
  std::unique_ptr<ApiWorld> world_;
  std::vector<Sent> events_;
  std::set<int64_t> times_;
};

TEST(SchemaModelTest, EveryAnswerIsTheModelsOrSaysThatItMayNotBe) {
  const uint64_t seed = NumberIn("TALLYD_SEED", 20261121);
  const uint64_t histories = NumberIn("TALLYD_HISTORIES", 60);
  size_t whole = 0;
  size_t partial = 0;
  for (uint64_t i = 0; i < histories && !HasFailure(); ++i) {
    SCOPED_TRACE("TALLYD_SEED=" + std::to_string(seed + i) + " TALLYD_HISTORIES=1");
    History history(seed + i);
    history.Play();
    whole += history.whole;
    partial += history.partial;
  }
  std::printf("%zu answers whole, %zu partial\n", whole, partial);
  EXPECT_GT(whole, partial);
}

}  // namespace
}  // namespace tallyd
