#include "tests/api/query/schema_model/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ingest/known_fields.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr int64_t kNowUs = 1'700'000'000'000'000;
constexpr int64_t kSpanUs = 3 * 3'600'000'000;
constexpr int kSteps = 24;
const std::vector<std::string> kHosts = {"a", "b#1", "web 1", "ü"};

}  // namespace

History::History(uint64_t seed) : chance_(seed), unit_us_(chance_.Is(0.8) ? 1000 : 1) {
  if (chance_.Is(0.4)) tables_["ALL"] = TableOfAll();
  tables_ = RandomTables();
  if (tables_.empty()) tables_["ALL"] = TableOfAll();
  world_ = std::make_unique<ApiWorld>(Toml());
  truth_.Adopt(tables_);
  Note(Toml());
  for (const char* field : {"host", "id", "ts", "qt"}) known_fields_.emplace_back(field);
  known_fields_.insert(known_fields_.end(), kMeasured.begin(), kMeasured.end());
  known_fields_.emplace_back(kSpelled[seed % kSpelled.size()]);
  if (seed % 6 == 1) known_fields_.emplace_back(kSpelled[(seed + 1) % kSpelled.size()]);
  if (seed % 3 == 0) known_fields_ = {};
  MeetFields();
}

// Of most histories the decoders know a superset of all fields; events have choices of them.
void History::MeetFields() {
  if (known_fields_.empty()) return;
  KnowFields({known_fields_.begin(), known_fields_.end()}, &world_->context().ShapesOf("s"));
}

std::string History::TomlOf(const Tables& tables) const {
  std::string toml = fmt::format("[streams.s]\nunit = \"{}\"\n", unit_us_ == 1 ? "us" : "ms");
  for (const auto& [name, table] : tables) toml += table.Toml();
  return toml;
}

std::string History::Where(const std::string& query, const json& plan) const {
  return query + "\n" + plan.dump() + "\n" + Toml();
}

void History::Play() {
  for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
    Step();
    for (int i = 0; i < 2; ++i) AskEvents();
    if (chance_.Is(0.4)) AskSteps();
    if (chance_.Is(0.6)) AskLatest();
  }
}

void History::Step() {
  switch (chance_.Below(16)) {
    case 0:
      ASSERT_TRUE(world_->context().store.Settle());
      return;
    case 1:
      return Delete();
    case 2:
      return DropAway();
    case 3:
      world_->clock().now += static_cast<int64_t>(chance_.Below(1'800'000'000));
      return;
    case 4:
    case 5:
    case 6:
    case 7:
      return ChangeSchema();
    default:
      return Post();
  }
}

Tables History::RandomTables() {
  Tables tables = tables_;
  for (size_t i = 0; i < 1 + chance_.Below(2); ++i) {
    const std::string name = "T" + std::to_string(chance_.Below(5));
    const bool there = tables.contains(name);
    if (there && chance_.Is(0.3)) {
      tables.erase(name);
    } else {
      tables[name] =
          there && chance_.Is(0.9) ? Changed(tables[name], &chance_) : RandomTable(name, &chance_);
    }
  }
  return tables;
}

// A schema that the store refuses changes nothing. Sometimes an earlier one comes back.
void History::ChangeSchema() {
  Tables changed = chance_.Is(0.2) ? tables_ : RandomTables();
  if (changed.empty()) return;
  const bool restart = chance_.Is(0.3);
  const std::string toml = TomlOf(changed);
  const bool adopted = restart ? world_->Restart(toml) : world_->Reload(toml);
  if (!adopted) {
    tally_.Add("schemas refused");
    ASSERT_TRUE(world_->Reload(Toml())) << Toml();
    return;
  }
  Note(fmt::format("{}:\n{}", restart ? "restart" : "reload", toml));
  tally_.Add("schemas adopted");
  tables_ = std::move(changed);
  truth_.Adopt(tables_);
  MeetFields();
}

int64_t History::NewTime() {
  while (true) {
    int64_t time = kNowUs - 1 - static_cast<int64_t>(chance_.Below(kSpanUs));
    time -= time % unit_us_;
    if (times_.insert(time).second) return time;
  }
}

json History::RandomValue(const std::string& field) {
  if (field == "n") return chance_.Below(100);
  if (field == "x") return static_cast<double>(chance_.Below(1000)) / 8;
  if (field == "ok") return chance_.Is(0.5);
  if (field == "s") {
    return chance_.Text(
        {"up", "down", "a|b", "v=1", "", "%41", "ü\n", chance_.Is(0.05) ? "7" : "z"});
  }
  if (field != "m") return chance_.Is(0.05) ? json(true) : json(chance_.Below(9));
  switch (chance_.Below(12)) {
    case 0:
      return json(std::numeric_limits<int64_t>::min() + static_cast<int64_t>(chance_.Below(3)));
    case 1:
      return json((int64_t{1} << 53) + 1);
    case 2:
      return json(1e300);
    case 3:
      return json(0.1);
    case 4:
      return chance_.Is(0.1) ? json(true) : json(7.0);
    case 5:
      return chance_.Is(0.1) ? json("1e5") : json("m#1");
    default:
      return json(chance_.Below(9));
  }
}

json History::RandomEvent() {
  json event = {{"host", chance_.Of(kHosts)}, {"ts", NewTime() / unit_us_}};
  if (!chance_.Is(0.05)) event["id"] = chance_.Below(3);
  if (chance_.Is(0.2)) event["qt"] = NewTime() / unit_us_;
  for (const std::string& field : kMeasured) {
    if (chance_.Is(0.6)) event[field] = RandomValue(field);
  }
  if (chance_.Is(0.4)) {
    const std::string spelling = chance_.Of(kSpelled);
    event[spelling] = RandomValue(spelling);
  }
  if (chance_.Is(0.02)) event[chance_.Of(kSpelled)] = 5;
  MeetAnother(&event);
  return event;
}

// Sometimes at the moment of another entity's, from which `id` alone tells it.
void History::MeetAnother(json* event) {
  if (sent_.empty() || !chance_.Is(0.05) || !event->contains("id")) return;
  const json& other = chance_.Of(sent_);
  if (!other.contains("id")) return;
  (*event)["host"] = other["host"];
  (*event)["ts"] = other["ts"];
  (*event)["id"] = (other["id"].get<int>() + 1) % 3;
  const auto moment = [](const json& of) {
    return of["host"].dump() + of["ts"].dump() + of["id"].dump();
  };
  moments_.insert(moment(other));
  if (!moments_.insert(moment(*event)).second) (*event)["ts"] = NewTime() / unit_us_;
}

void History::Post() {
  std::vector<json> batch;
  for (size_t i = 0; i < 1 + chance_.Below(5); ++i) {
    const bool again = !sent_.empty() && chance_.Is(0.05);
    batch.push_back(again ? chance_.Of(sent_) : RandomEvent());
  }
  // Where tables forget by age, one by one: what all of them find too old is told and not stored.
  // Elsewhere, too, sometimes: a bad one then takes no good one with it.
  if (Toml().find("max_age") == std::string::npos && chance_.Is(0.7)) return Send(batch);
  for (const json& event : batch) Send({event});
}

void History::Send(const std::vector<json>& events) {
  const json batch = events;
  const Response response = world_->Post("s", batch.dump());
  ASSERT_TRUE(response.status == 200 || response.status == 400) << batch << response.body;
  Note(fmt::format("sent {}: {} {}", batch.dump(), response.status, response.body));
  tally_.Add(response.status == 200 ? "batches taken" : "batches refused");
  if (response.status != 200 || json::parse(response.body)["rows"] == 0) return;
  for (const json& event : events) {
    truth_.Take(event, TimesOf(event), world_->clock().now);
    sent_.push_back(event);
  }
}

std::map<std::string, int64_t> History::TimesOf(const json& event) const {
  std::map<std::string, int64_t> times;
  for (const char* field : {"ts", "qt"}) {
    if (event.contains(field)) times[field] = event[field].get<int64_t>() * unit_us_;
  }
  return times;
}

void History::Delete() {
  std::map<std::string, json> entity = {{"host", chance_.Of(kHosts)}};
  if (chance_.Is(0.3)) entity["id"] = chance_.Below(3);
  int64_t from = 0;
  int64_t to = kForever;
  std::string text;
  for (const auto& [field, value] : entity) {
    text += (text.empty() ? "" : "&") + field + "=" +
            Encoded(value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (chance_.Is(0.5)) {
    from = (kNowUs - static_cast<int64_t>(chance_.Below(kSpanUs))) / 1000 * 1000;
    text += "&from=" + std::to_string(from / 1000);
  }
  if (chance_.Is(0.3)) {
    to = std::max(from, (kNowUs - static_cast<int64_t>(chance_.Below(kSpanUs))) / 1000 * 1000);
    text += "&to=" + std::to_string(to / 1000);
  }
  const Response response = world_->Call(DeleteEvents, {"s"}, text);
  Note(fmt::format("deleted {}: {}", text, response.status));
  tally_.Add(response.status == 200 ? "deletes" : "deletes refused");
  if (response.status == 200) truth_.Delete(entity, from, to);
}

// Drops a table that is not in the file.
void History::DropAway() {
  const std::string name = "T" + std::to_string(chance_.Below(5));
  if (tables_.contains(name)) return;
  const Response response = world_->Call(DropTable, {name});
  if (response.status != 200) return;
  Note("dropped " + name);
  tally_.Add("tables dropped");
  truth_.Drop(name);
}

}  // namespace tallyd
