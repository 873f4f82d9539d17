// Two stores that differ in nothing but what others have written, asked the same by one tenant: the
// answers have the same bytes, whatever is asked, written or removed. And they are those of a
// tenant's own rows, by a reference that knows nothing of keys.
//
// TALLYD_SCOPE_CASES: how many questions; without it a few hundred.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <tuple>

#include "ingest/text/json.h"
#include "ingest/text/percent.h"
#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

constexpr TimeUs kFirstMs = 1'500'000'000'000;
constexpr int kSeconds = 400'000;  // Some days.
const std::vector<std::string> kTenants = {"acme",  "acme2", "acm",  "a#b",    "a",
                                           "a%23b", "1",     "01",   "1.0",    "true",
                                           " ",     "a/",    "ACME", "acme#h0"};
const std::vector<std::string> kShapes = {
    "{tenant}#{host}#{ts:ms}",
    "{ts:day}#{tenant}#{host}#{ts:ms}",
    "{host}#{tenant}#{ts:ms}",
    "{tenant:salt(5)}#{tenant}#{host}#{ts:ms}",
    "{host:salt(3)}#{host}/{tenant}/{ts:ms}",
    "{host}#{ts:reverse(ms)}#{tenant}",
    "{tenant:reverse_domain}#{host}#{ts:ms}",
    "{ts:ms}#{host}#{tenant:pad(9)}",
};

class ScopeModel {
 public:
  explicit ScopeModel(uint32_t seed)
      : random_(seed),
        shape_(Any(kShapes)),
        tenant_(Any(kTenants)),
        worlds_{std::make_unique<ApiWorld>(Tables()), std::make_unique<ApiWorld>(Tables())} {
    scoped_ = std::make_shared<const Principal>(
        Principal{.name = "t",
                  .roles = {Role::kRead, Role::kWrite, Role::kDelete},
                  .scope = {{"tenant", tenant_}}});
    for (int i = 0; i < 40; ++i) WriteOwn();
    // Fields and their types are the stream's, and no secret: both stores know the same.
    for (const std::string& tenant : kTenants) {
      if (tenant == tenant_) continue;
      for (const auto& world : worlds_) PostTo(*world, tenant, 17, 1);
    }
    WriteOthers(*worlds_[0], 60);
    WriteOthers(*worlds_[1], 25);
  }

  void Step() {
    const uint32_t kind = Below(20);
    if (kind == 0) return WriteOwn();
    if (kind == 1) return WriteOthers(*worlds_[Below(2)], 3);
    if (kind == 2) return SealOne();
    if (kind == 3) return Remove();
    if (kind == 4) return TryToChangeOthers();
    Ask();
  }

  void ExpectReference() {
    std::string expected;
    for (const auto& [key, value] : own_) {
      expected += fmt::format("{} {} {}\n", std::get<0>(key), std::get<1>(key), value);
    }
    const Response answer =
        As(*worlds_[0], GetEvents, {"s"}, "scan=1&limit=100000&table=T" + AllTime());
    ASSERT_EQ(answer.status, 200u) << answer.problem << ' ' << shape_;
    const Json events = Json::parse(answer.body);
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < events["columns"].size(); ++i) {
      places[events["columns"][i].get<std::string>()] = i;
    }
    std::string found;
    std::map<std::pair<int64_t, std::string>, int64_t> sorted;
    for (const Json& row : events["rows"]) {
      sorted[{row[places["ts"]].get<int64_t>(), row[places["host"]].get<std::string>()}] =
          row[places["v"]].get<int64_t>();
    }
    for (const auto& [key, value] : sorted) {
      found += fmt::format("{} {} {}\n", key.first, key.second, value);
    }
    EXPECT_EQ(found, expected) << shape_ << " of \"" << tenant_ << '"';
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  const std::string& Any(const std::vector<std::string>& all) {
    return all[Below(static_cast<uint32_t>(all.size()))];
  }
  const std::string& Others() {
    while (true) {
      const std::string& other = Any(kTenants);
      if (other != tenant_) return other;
    }
  }
  std::string Tables() const {
    return fmt::format(
        "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"{}\"\n"
        "families.M = {{}}\n[tables.NEWEST]\nstream = \"s\"\npattern = \"latest\"\n"
        "row_key = \"{{host}}#{{tenant}}\"\nfamilies.M = {{}}\n"
        "[tables.HIDDEN]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
        "row_key = \"{{host}}#{{ts:ms}}\"\nfamilies.M = {{}}\n",
        shape_);
  }
  static std::string AllTime() {
    return fmt::format("&from={}&to={}", kFirstMs, kFirstMs + int64_t{kSeconds} * 1000);
  }

  static unsigned PostTo(ApiWorld& world, const std::string& tenant, int64_t second, int64_t v) {
    const Json event = {{"tenant", tenant},
                        {"host", "h" + std::to_string(second % 4)},
                        {"v", v},
                        {"ts", kFirstMs + second * 1000}};
    return world.Post("s", event.dump()).status;
  }
  void WriteOwn() {
    const int64_t second = Below(kSeconds);
    const int64_t v = Below(100);
    for (const auto& world : worlds_) {
      world->ActAs(scoped_);
      const unsigned status = PostTo(*world, tenant_, second, v);
      world->ActAs(Anybody());
      // A domain or a padded field may not be able to say the name.
      if (status != 200) return;
    }
    own_[{kFirstMs + second * 1000, "h" + std::to_string(second % 4)}] = v;
  }
  void WriteOthers(ApiWorld& world, int count) {
    for (int i = 0; i < count; ++i) PostTo(world, Others(), Below(kSeconds), Below(100));
  }
  void SealOne() { EXPECT_TRUE(worlds_[Below(2)]->context().store.Settle()); }

  Response As(ApiWorld& world, Handler handler, std::vector<std::string> arguments,
              const std::string& query) {
    world.ActAs(scoped_);
    Response response = world.Call(handler, std::move(arguments), query);
    world.ActAs(Anybody());
    return response;
  }
  // Of both.
  void AskBoth(Handler handler, const std::vector<std::string>& arguments,
               const std::string& query) {
    const Response first = As(*worlds_[0], handler, arguments, query);
    const Response second = As(*worlds_[1], handler, arguments, query);
    EXPECT_EQ(first.status, second.status) << Told(query);
    EXPECT_EQ(first.body, second.body) << Told(query);
    EXPECT_EQ(first.problem, second.problem) << Told(query);
  }
  std::string Told(const std::string& query) const {
    return fmt::format("\"{}\" asks {} of {}", tenant_, query, shape_);
  }

  std::string Key() {
    const int64_t at = kFirstMs + int64_t{Below(kSeconds)} * 1000;
    const std::vector<std::string> heads = {"",         tenant_,           Others(),       "h1",
                                            "20170714", tenant_ + "#",     Others() + "#", "3",
                                            "1",        std::to_string(at)};
    return Any(heads);
  }
  std::string Filter() {
    const std::vector<std::string> filters = {"",
                                              "",
                                              "&host=h1",
                                              "&host=h1&host=h2",
                                              "&tenant=" + EncodePercent(Others()),
                                              "&tenant=" + EncodePercent(tenant_),
                                              "&where=v>50",
                                              "&host=h9"};
    return Any(filters);
  }
  // As somebody who sees everything gets it of the first store.
  std::string CursorOfAnother(Handler handler, const std::vector<std::string>& arguments,
                              const std::string& query) {
    const Response page = worlds_[0]->Call(handler, arguments, query);
    if (page.status != 200) return {};
    const Json json = Json::parse(page.body, nullptr, false);
    const bool has_next = json.is_object() && json.contains("next") && json["next"].is_string();
    return has_next ? "&cursor=" + json["next"].get<std::string>() : std::string();
  }

  void Ask() {
    const std::vector<std::string> orders = {"&order=asc", "&order=desc", "&order=key", ""};
    const std::vector<std::string> tables = {"T", "NEWEST", "HIDDEN", "NOWHERE"};
    const std::string limit = Below(2) == 0 ? "" : fmt::format("&limit={}", 1 + Below(7));
    const std::string times = Below(3) == 0 ? "" : AllTime();
    const std::string table = Any(tables);
    switch (Below(9)) {
      case 0:
      case 1: {
        const std::string query = "scan=1" + Any(orders) + Filter() + times + limit;
        const bool goes_on = Below(2) == 0;
        return AskBoth(GetEvents, {"s"},
                       query + (goes_on ? CursorOfAnother(GetEvents, {"s"}, query) : ""));
      }
      case 2:
        return AskBoth(GetEvents, {"s"},
                       "step=1h&agg=count&agg=max&fields=v&scan=1" + Filter() + times +
                           (Below(2) == 0 ? "&by=host" : "&by=tenant"));
      case 3: {
        const std::string query =
            "prefix=" + EncodePercent(Key()) + limit + (Below(2) == 0 ? "&reverse=1" : "");
        const bool goes_on = Below(2) == 0;
        return AskBoth(GetRows, {table},
                       query + (goes_on ? CursorOfAnother(GetRows, {table}, query) : ""));
      }
      case 4:
        return AskBoth(
            GetRows, {table},
            "start=" + EncodePercent(Key()) + "&end=" + EncodePercent(Key() + "~") + limit);
      case 5:
        return AskBoth(ListValues, {"s"}, (Below(2) == 0 ? "field=tenant" : "field=host") + limit);
      case 6:
        return AskBoth(GetLatest, {"s"}, "fields=*" + Filter() + limit);
      case 7:
        return AskBoth(GetPlan, {"s"}, "scan=1" + Filter() + times);
      default:
        return Below(2) == 0 ? AskBoth(ListTables, {}, "") : AskBoth(GetTable, {table}, "");
    }
  }

  // Of one host; what others have stays as it was.
  void Remove() {
    const std::string host = "h" + std::to_string(Below(4));
    std::string others[2];
    for (int i = 0; i < 2; ++i) others[i] = OthersIn(*worlds_[i]);
    AskBoth(DeleteEvents, {"s"}, "host=" + host);
    std::erase_if(own_, [&](const auto& each) { return std::get<1>(each.first) == host; });
    for (int i = 0; i < 2; ++i) EXPECT_EQ(OthersIn(*worlds_[i]), others[i]) << Told(host);
  }
  void TryToChangeOthers() {
    std::string others[2];
    for (int i = 0; i < 2; ++i) others[i] = OthersIn(*worlds_[i]);
    for (const auto& world : worlds_) {
      world->ActAs(scoped_);
      EXPECT_EQ(PostTo(*world, Others(), Below(kSeconds), 1), 403u);
      world->ActAs(Anybody());
    }
    AskBoth(DeleteEvents, {"s"}, "tenant=" + EncodePercent(Others()));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(OthersIn(*worlds_[i]), others[i]) << Told("writes");
  }
  // All that has another tenant, as somebody who sees everything finds it.
  std::string OthersIn(ApiWorld& world) {
    const Response all = world.Call(GetEvents, {"s"}, "scan=1&limit=100000&table=T");
    const Json events = Json::parse(all.body);
    const auto& columns = events["columns"];
    const auto place = static_cast<size_t>(
        std::find(columns.begin(), columns.end(), Json("tenant")) - columns.begin());
    std::string told;
    for (const Json& row : events["rows"]) {
      const Json& whose = row[place];
      const std::string text = whose.is_string() ? whose.get<std::string>() : whose.dump();
      if (text != tenant_) told += row.dump() + "\n";
    }
    return told;
  }

  std::mt19937 random_;
  const std::string shape_;
  const std::string tenant_;
  std::unique_ptr<ApiWorld> worlds_[2];
  PrincipalPtr scoped_;
  std::map<std::tuple<int64_t, std::string>, int64_t> own_;  // By time and host.
};

TEST(ScopeModelTest, NoAnswerChangesByWhatOthersHave) {
  const char* const cases = std::getenv("TALLYD_SCOPE_CASES");
  const uint32_t count = cases == nullptr ? 600 : static_cast<uint32_t>(std::atoi(cases));
  constexpr uint32_t kOfOneWorld = 100;
  for (uint32_t seed = 0; seed * kOfOneWorld < count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ScopeModel model(seed);
    for (uint32_t i = 0; i < kOfOneWorld; ++i) model.Step();
    model.ExpectReference();
  }
}

}  // namespace
}  // namespace tallyd
