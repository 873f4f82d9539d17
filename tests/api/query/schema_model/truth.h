// What was sent, which tables were there to take it, and what is gone again: from this, and from
// nothing of the product, follows what each query must be answered, and where `complete: false`
// would be wrong.
#ifndef TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_TRUTH_H_
#define TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_TRUTH_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/api/query/schema_model/model_table.h"

namespace tallyd {

inline constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// What is asked for: of the stream's events, or of a latest table. Times in microseconds.
struct ModelQuery {
  std::vector<std::string> fields;
  std::map<std::string, std::vector<nlohmann::json>> filters;  // By field: any of these values.
  int64_t from = 0;
  int64_t to = kForever;
};

using Tables = std::map<std::string, TableModel>;

class Truth {
 public:
  struct Row {
    int64_t time = 0;
    nlohmann::json fields;  // Without times.
    friend bool operator==(const Row&, const Row&) = default;
  };

  // The tables of the file from now on.
  void Adopt(const Tables& tables);
  // The tables have taken the event; `times` are in microseconds, `now` is the clock.
  void Take(const nlohmann::json& event, const std::map<std::string, int64_t>& times, int64_t now);
  void Delete(const std::map<std::string, nlohmann::json>& entity, int64_t from, int64_t to);
  void Drop(const std::string& table);

  bool empty() const { return events_.empty(); }
  const std::set<std::string>& seen() const { return seen_; }
  // A value that some event had for the field; null if none.
  nlohmann::json SomeValue(const std::string& field, Chance* chance) const;

  // The rows of a whole answer from this table, in time order.
  std::vector<Row> Rows(const ModelQuery& query, const TableModel& table) const;
  // Why an answer from this table need not be whole; empty: "complete: false" would be wrong.
  std::string MayLack(const ModelQuery& query, const TableModel& table, int64_t now) const;
  // Whether two events may have fallen on one cell of it unseen: nothing tells them apart.
  bool MayMergeUnseen(const TableModel& table) const {
    return !IsAtRisk(table) && HasMerged(table);
  }
  // Whether an event that was sent and not deleted has this time, by the table, and these fields of
  // the entity.
  bool Knows(const Row& row, const TableModel& table) const;

  // The same of a latest table: its rows by entity, and whether it must be whole.
  std::vector<Row> LatestRows(const ModelQuery& query, const TableModel& table) const;
  std::string LatestMayLack(const ModelQuery& query, const TableModel& table) const;

 private:
  struct Sent {
    nlohmann::json fields;
    std::map<std::string, int64_t> times;  // By time field.
    std::set<std::string> gone;            // Time fields by which it was deleted.
    // By name: the tables of the file when the event came. A table that was changed since counts as
    // changed though it be again as it was: nobody promises to notice that nothing came meanwhile.
    std::map<std::string, std::shared_ptr<const TableModel>> under;
    std::set<std::string> entered;  // Tables.
    // Tables to which it came expired by the wall clock. What is stored goes by the clock of the
    // store, which believes no leap at once.
    std::set<std::string> perhaps;
    bool dropped = false;  // With all that it entered.
  };
  struct Cell {
    int64_t time;
    nlohmann::json value;
  };
  struct LatestRow {
    nlohmann::json entity;
    std::map<std::string, Cell> cells;  // By field.
  };

  void TakeLatest(const TableModel& table, const Sent& event);
  // Whether the key of another table has the `id` that this one's lacks.
  bool IsAtRisk(const TableModel& table) const;
  // Whether events ever came that share its cells.
  bool HasMerged(const TableModel& table) const;
  // Whether some table of the file takes the field as a spelling of the compact name.
  bool IsCompacted(const std::string& field) const;
  // Whether some table of the file, which holds what is filtered by, keeps all spellings as one.
  bool SpellingsAreOne(const ModelQuery& query) const;
  std::set<std::string> SpellingsSeen() const;
  // The fields that were seen, or are named by the rules of the file.
  std::set<std::string> Known() const;
  bool KeepsAsOne(const TableModel& latest) const;
  bool CanFilter(const ModelQuery& query, const TableModel& table) const;
  // The fields of events that are asked for; empty: all.
  std::set<std::string> Asked(const ModelQuery& query, bool one_spelling) const;
  bool IsWanted(const std::set<std::string>& asked, const TableModel& table,
                const nlohmann::json& fields) const;
  bool Passes(const ModelQuery& query, const nlohmann::json& fields, bool one_spelling) const;
  bool IsIdentifying(const std::string& field) const;
  std::string Missed(const Sent& event, const TableModel& table,
                     const std::set<std::string>& wanted, bool all) const;

  static bool IsSame(const TableModel& a, const TableModel& b) { return a.Toml() == b.Toml(); }

  Tables tables_;
  std::map<std::string, std::shared_ptr<const TableModel>> shared_;  // The same.
  std::vector<Sent> events_;
  std::set<std::string> seen_;   // Fields.
  std::set<std::string> risky_;  // Fields that had a value which its text does not tell.
  std::string last_spelling_;
  std::map<std::string, std::map<std::string, LatestRow>> latest_;  // By table and entity.
  std::set<std::string> forgot_;                                    // Tables that once kept less.
  bool forgot_by_age_ = false;
  bool own_time_ = false;  // Some table had another time than the stream\'s.
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_TRUTH_H_
