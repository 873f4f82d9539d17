// The queries of a history, and what their answers are held against.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/api/query/schema_model/history.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr int64_t kNowMs = 1'700'000'000'000;
constexpr int64_t kSpanMs = 3 * 3'600'000;

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

int64_t MicrosOf(const json& ts) { return std::llround(ts.get<double>() * 1000); }

std::vector<Truth::Row> RowsOf(const json& answer) {
  std::vector<Truth::Row> rows;
  for (const json& cells : answer["rows"]) {
    Truth::Row row{0, json::object()};
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto column = answer["columns"][i].get<std::string>();
      if (column == "ts") {
        row.time = MicrosOf(cells[i]);
      } else if (!cells[i].is_null()) {
        row.fields[column] = cells[i];
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Line by line, so that a difference shows; 3 and 3.0 are not the same.
std::string Print(const std::vector<Truth::Row>& rows) {
  std::string text;
  for (const Truth::Row& row : rows) text += fmt::format("{} {}\n", row.time, row.fields.dump());
  return text;
}

// What has one time comes in the order of the table's keys, which is not looked at.
std::vector<Truth::Row> SortedByTime(std::vector<Truth::Row> rows) {
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &Truth::Row::time));
  std::ranges::sort(rows, {},
                    [](const Truth::Row& row) { return std::pair(row.time, row.fields.dump()); });
  return rows;
}

std::vector<Truth::Row> SortedByKey(std::vector<Truth::Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Truth::Row& a, const Truth::Row& b) {
    return a.fields.dump() < b.fields.dump();
  });
  return rows;
}

}  // namespace

std::string Encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return encoded;
}

History::Question History::RandomQuestion(bool latest) {
  Question question;
  question.text = latest ? "limit=1000" : "limit=1000000";
  if (chance_.Is(0.7)) {
    std::vector<std::string>& fields = question.query.fields;
    fields = chance_.Some(kMeasured, 0.3);
    for (const char* more : {"id", "host", "qt", "h*", "B*", "Bid size", "BIDSIZE", "bid size"}) {
      if (chance_.Is(0.06)) fields.push_back(more);
    }
    for (const std::string& field : fields) question.text += "&fields=" + Encoded(field);
  }
  AddFilters(&question, latest);
  if (latest) return question;
  if (chance_.Is(0.5)) {
    const int64_t from = kNowMs - static_cast<int64_t>(chance_.Below(kSpanMs));
    question.query.from = from * 1000;
    question.text += "&from=" + std::to_string(from);
  }
  if (chance_.Is(0.2)) {
    const int64_t to = std::max(question.query.from / 1000,
                                kNowMs - static_cast<int64_t>(chance_.Below(kSpanMs / 4)));
    question.query.to = to * 1000;
    question.text += "&to=" + std::to_string(to);
  }
  return question;
}

void History::AddFilters(Question* question, bool latest) {
  const auto add = [&](const std::string& field, double share) {
    if (!chance_.Is(share)) return;
    std::vector<json>& values = question->query.filters[field];
    for (size_t i = 0; i < 1 + chance_.Below(2); ++i) {
      const json value = truth_.SomeValue(field, &chance_);
      values.push_back(value.is_null() ? json("none") : value);
      question->may_be_unknown = question->may_be_unknown || value.is_null();
      question->text += "&" + Encoded(field) + "=" + Encoded(TextOf(values.back()));
    }
  };
  add("host", latest ? 0.3 : 0.5);
  for (const char* field : {"id", "n", "x", "s", "ok", "m"}) add(field, 0.04);
  add(chance_.Of(kSpelled), 0.08);
}

bool History::IsUnknown(const Question& question) const {
  const auto unknown = [&](const std::string& field) {
    return field.back() != '*' && !truth_.seen().contains(field);
  };
  const ModelQuery& query = question.query;
  return question.may_be_unknown ||
         std::any_of(query.fields.begin(), query.fields.end(), unknown) ||
         std::any_of(query.filters.begin(), query.filters.end(),
                     [&](const auto& filter) { return unknown(filter.first); });
}

const TableModel& History::TableOf(const json& plan) const {
  return tables_.at(plan["table"].get<std::string>());
}

std::string History::SomeTable(bool latest) {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) {
    if (table.is_latest() == latest) names.push_back(name);
  }
  return names.empty() ? "" : chance_.Of(names);
}

bool History::Pages(const Question& question, const std::string& text, Handler handler,
                    const std::string& why_refused, json* answer) {
  std::string cursor;
  for (int page = 0; page < 200; ++page) {
    const Response response = world_->Call(handler, {"s"}, text + cursor);
    if (response.status == 400 || response.status == 422 || response.status == 404) {
      const bool rightly = response.status == 400 ? IsUnknown(question) : !why_refused.empty();
      EXPECT_TRUE(rightly) << text << "\n" << response.status << response.body << "\n" << Toml();
      tally_.Add("refused");
      return false;
    }
    EXPECT_EQ(response.status, 200u) << text << response.body;
    if (response.status != 200) return false;
    json one = json::parse(response.body);
    const json next = one["next"];
    if (page == 0) {
      *answer = std::move(one);
    } else {
      for (json& row : one["rows"]) {
        // A page has the columns that it needs.
        json fields = json::array();
        for (const json& column : one["columns"]) {
          auto& columns = (*answer)["columns"];
          if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
            columns.push_back(column);
          }
        }
        for (const json& column : (*answer)["columns"]) {
          const auto at = std::find(one["columns"].begin(), one["columns"].end(), column);
          fields.push_back(at == one["columns"].end() ? json() : row[at - one["columns"].begin()]);
        }
        (*answer)["rows"].push_back(std::move(fields));
      }
    }
    if (next.is_null()) return true;
    cursor = "&cursor=" + Encoded(next.get<std::string>());
  }
  ADD_FAILURE() << "pages without end: " << text << "\n" << Toml();
  return false;
}

std::string History::Candidates(const std::string& text) {
  return world_->Call(GetPlan, {"s"}, text).body;
}

bool History::IsWhole(const json& plan, const std::string& may_lack, const std::string& where) {
  if (!plan.contains("complete")) {
    tally_.Add(may_lack.empty() ? "whole" : "whole though it might lack");
    return true;
  }
  tally_.Add("partial");
  EXPECT_EQ(plan["complete"], false) << where;
  EXPECT_FALSE(plan.value("note", "").empty()) << where;
  EXPECT_FALSE(may_lack.empty()) << "it holds everything\n" << where;
  return false;
}

void History::CheckRows(const Question& question, const std::string& text, const json& answer,
                        bool descending) {
  const json& plan = answer["plan"];
  const TableModel& table = TableOf(plan);
  const std::string where = Where(text, plan);
  std::vector<Truth::Row> rows = RowsOf(answer);
  if (descending) std::reverse(rows.begin(), rows.end());
  const std::string may_lack = truth_.MayLack(question.query, table, world_->clock().now);
  if (IsWhole(plan, may_lack, where)) {
    if (truth_.MayMergeUnseen(table)) return;
    EXPECT_EQ(Print(SortedByTime(rows)), Print(SortedByTime(truth_.Rows(question.query, table))))
        << where;
    return;
  }
  for (const Truth::Row& row : rows) EXPECT_TRUE(truth_.Knows(row, table)) << Print({row}) << where;
}

// The same question to the planner's table and to one that it did not choose.
void History::AskEvents() {
  const Question question = RandomQuestion(false);
  std::string text = question.text;
  if (!chance_.Is(0.1)) text += "&scan=1";
  const bool descending = chance_.Is(0.3);
  if (descending) text += "&order=desc";
  if (chance_.Is(0.2))
    text.replace(0, text.find('&'), "limit=" + std::to_string(1 + chance_.Below(7)));
  std::string best = text.find("scan=1") == std::string::npos ? "no scan" : "";
  for (const auto& [name, table] : tables_) {
    if (!best.empty()) break;
    if (truth_.MayLack(question.query, table, world_->clock().now).empty()) best = name;
  }
  const bool must_answer = !best.empty() && best != "no scan";
  json answer;
  if (Pages(question, text, GetEvents, must_answer ? "" : "none must", &answer)) {
    if (must_answer) {
      EXPECT_FALSE(answer["plan"].contains("complete")) << best << " holds everything\n"
                                                        << Where(text, answer["plan"]);
    }
    CheckRows(question, text, answer, descending);
  }
  if (const std::string pinned = SomeTable(false); !pinned.empty()) {
    text += "&table=" + pinned;
    if (Pages(question, text, GetEvents, "pinned", &answer)) {
      CheckRows(question, text, answer, descending);
    }
  }
}

void History::AskSteps() {
  Question question = RandomQuestion(false);
  question.query.fields = {"x"};
  const bool by_host = chance_.Is(0.5);
  const int64_t step_us = chance_.Is(0.5) ? 600'000'000 : 3'600'000'000;
  std::string text = question.text;
  while (text.find("&fields=") != std::string::npos) {
    const size_t at = text.find("&fields=");
    text.erase(at, text.find('&', at + 1) - at);
  }
  text += fmt::format("&scan=1&fields=x&step={}s&agg=count&agg=min&agg=last&agg=avg{}",
                      step_us / 1'000'000, by_host ? "&by=host" : "");
  json answer;
  if (!Pages(question, text, GetEvents, "any", &answer)) return;
  const json& plan = answer["plan"];
  const TableModel& table = TableOf(plan);
  const std::string may_lack = truth_.MayLack(question.query, table, world_->clock().now);
  if (!IsWhole(plan, may_lack, Where(text, plan))) return;
  if (truth_.MayMergeUnseen(table)) return;
  tally_.Add("whole steps");
  std::map<std::pair<int64_t, std::string>, std::vector<double>> groups;
  for (const Truth::Row& row : truth_.Rows(question.query, table)) {
    const std::string host = by_host ? row.fields["host"].get<std::string>() : "";
    groups[{row.time - row.time % step_us, host}].push_back(row.fields["x"].get<double>());
  }
  std::map<std::pair<int64_t, std::string>, std::string> expected;
  for (const auto& [group, values] : groups) {
    double sum = 0;
    for (const double value : values) sum += value;
    expected[group] = fmt::format("{} {} {} {:.9g}", values.size(),
                                  *std::min_element(values.begin(), values.end()), values.back(),
                                  sum / static_cast<double>(values.size()));
  }
  std::map<std::pair<int64_t, std::string>, std::string> answered;
  for (const Truth::Row& row : RowsOf(answer)) {
    const auto number = [&](const char* name) { return row.fields[name].get<double>(); };
    const std::string host = by_host ? row.fields["host"].get<std::string>() : "";
    answered[{row.time, host}] =
        fmt::format("{} {} {} {:.9g}", row.fields["x:count"].get<int64_t>(), number("x:min"),
                    number("x:last"), number("x:avg"));
  }
  EXPECT_EQ(answered, expected) << Where(text, plan);
  EXPECT_EQ(answer["rows"].size(), expected.size()) << Where(text, plan);
}

void History::AskLatest() {
  const std::string name = SomeTable(true);
  if (name.empty()) return;
  const TableModel& table = tables_.at(name);
  const Question question = RandomQuestion(true);
  const std::string may_lack = truth_.LatestMayLack(question.query, table);
  const std::string text = question.text + "&table=" + name;
  json answer;
  if (!Pages(question, text, GetLatest, may_lack, &answer)) return;
  tally_.Add("latest");
  const std::string where = Where(text, answer["plan"]);
  if (!IsWhole(answer["plan"], may_lack, where)) return;
  std::vector<Truth::Row> rows = RowsOf(answer);
  if (!question.query.fields.empty()) {
    for (Truth::Row& row : rows) row.time = 0;
  }
  EXPECT_EQ(Print(SortedByKey(rows)), Print(SortedByKey(truth_.LatestRows(question.query, table))))
      << where;
}

}  // namespace tallyd
