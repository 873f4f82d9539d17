// One random history: events are sent, tables come, change and go by reloads and restarts, entities
// and tables are deleted, the store settles, the clock moves; and between all this, queries.
#ifndef TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_HISTORY_H_
#define TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/query/schema_model/truth.h"

namespace tallyd {

// How many answers there were of each kind.
struct Tally {
  std::map<std::string, size_t> counts;
  void Add(const std::string& kind) { ++counts[kind]; }
  void Add(const Tally& other) {
    for (const auto& [kind, count] : other.counts) counts[kind] += count;
  }
};

std::string Encoded(const std::string& text);  // Every byte, for a URL.

class History {
 public:
  explicit History(uint64_t seed);
  // Ends early with the test's first failure.
  void Play();
  const Tally& tally() const { return tally_; }
  // What was done, a line each.
  const std::string& log() const { return log_; }

 private:
  std::string Toml() const { return TomlOf(tables_); }
  std::string TomlOf(const Tables& tables) const;
  std::string Where(const std::string& query, const nlohmann::json& plan) const;

  void Note(const std::string& line) { log_ += line + "\n"; }

  // Changes.
  void Step();
  Tables RandomTables();
  void MeetFields();
  void ChangeSchema();
  void Post();
  nlohmann::json RandomEvent();
  nlohmann::json RandomValue(const std::string& field);
  void MeetAnother(nlohmann::json* event);
  void Send(const std::vector<nlohmann::json>& events);
  std::map<std::string, int64_t> TimesOf(const nlohmann::json& event) const;
  int64_t NewTime();
  void Delete();
  void DropAway();

  // Queries.
  struct Question {
    ModelQuery query;
    std::string text;  // As parameters.
    bool may_be_unknown = false;
  };
  Question RandomQuestion(bool latest);
  void AddFilters(Question* question, bool latest);
  void AskEvents();
  void AskSteps();
  void AskLatest();
  // The answer's rows, all pages; nothing where it was refused, which is checked.
  bool Pages(const Question& question, const std::string& more, Handler handler,
             const std::string& why_refused, nlohmann::json* answer);
  bool IsUnknown(const Question& question) const;
  // Whether it says that it is whole; if not, that it may.
  bool IsWhole(const nlohmann::json& plan, const std::string& may_lack, const std::string& where);
  void CheckRows(const Question& question, const std::string& text, const nlohmann::json& answer,
                 bool descending);
  std::string Candidates(const std::string& text);
  const TableModel& TableOf(const nlohmann::json& plan) const;
  std::string SomeTable(bool latest);

  Chance chance_;
  const int64_t unit_us_;
  Tables tables_;
  Truth truth_;
  std::unique_ptr<ApiWorld> world_;
  std::vector<std::string> known_fields_;
  std::set<int64_t> times_;
  std::set<std::string> moments_;  // At which an entity had an event.
  std::vector<nlohmann::json> sent_;
  Tally tally_;
  std::string log_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_HISTORY_H_
