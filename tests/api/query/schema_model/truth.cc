#include "tests/api/query/schema_model/truth.h"

#include <algorithm>

namespace tallyd {
namespace {

using nlohmann::json;

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool Matches(const json& value, const json& asked) {
  if (TextOf(value) == TextOf(asked)) return true;
  return value.is_number() && asked.is_number() && value == asked;
}

// Whether another type may have the value's text, in the eyes of a careful reader.
bool IsRisky(const json& value) {
  if (value.is_boolean()) return true;
  if (!value.is_string()) return false;
  const auto text = value.get<std::string>();
  return !text.empty() &&
         std::string_view("0123456789+-. ").find(text[0]) != std::string_view::npos;
}

bool IsTime(const std::string& field) { return field == "ts"; }

}  // namespace

void Truth::Adopt(const Tables& tables) {
  std::map<std::string, std::shared_ptr<const TableModel>> shared;
  for (const auto& [name, table] : tables) {
    const auto known = shared_.find(name);
    const bool same = known != shared_.end() && IsSame(*known->second, table);
    shared[name] = same ? known->second : std::make_shared<const TableModel>(table);
  }
  tables_ = tables;
  shared_ = std::move(shared);
  for (const auto& [name, table] : tables) {
    if (table.forgets()) forgot_.insert(name);
    forgot_by_age_ = forgot_by_age_ || table.max_age_ms;
    own_time_ = own_time_ || table.time != "ts";
  }
}

void Truth::Take(const json& event, const std::map<std::string, int64_t>& times, int64_t now) {
  Sent sent{event, times, {}, {}, {}, {}, false};
  for (const auto& [name, table] : tables_) {
    sent.under[name] = shared_.at(name);
    const auto time = times.find(table.time);
    const bool expired =
        table.max_age_ms && time != times.end() && time->second < now - *table.max_age_ms * 1000;
    if (!table.Kept(event).empty()) (expired ? sent.perhaps : sent.entered).insert(name);
    if (table.is_latest() && !expired) TakeLatest(table, sent);
  }
  bool spelled = false;
  for (const auto& [field, value] : event.items()) {
    // The contract does not say which of an event's own spellings is the last. Its first is.
    if (!spelled && IsCompacted(field)) last_spelling_ = field;
    spelled = spelled || IsCompacted(field);
    seen_.insert(field);
    if (IsRisky(value)) risky_.insert(field);
  }
  // The same event again is the same event.
  std::erase_if(events_, [&](const Sent& each) {
    return each.fields == event && each.gone.empty() && each.under == sent.under;
  });
  events_.push_back(std::move(sent));
}

bool Truth::IsCompacted(const std::string& field) const {
  return IsSpelled(field) && std::any_of(tables_.begin(), tables_.end(), [&](const auto& table) {
           return table.second.compacts() && table.second.Holds(field);
         });
}

void Truth::TakeLatest(const TableModel& table, const Sent& event) {
  const std::set<std::string> kept = table.Kept(event.fields);
  if (kept.empty()) return;
  const int64_t time = event.times.at(table.time);
  json entity = json::object();
  for (const std::string& field : table.key_fields) entity[field] = event.fields[field];
  LatestRow& row = latest_[table.name][entity.dump()];
  row.entity = entity;
  if (table.keep_row || table.rules.begin()->second.one_cell) {
    const bool older = std::any_of(row.cells.begin(), row.cells.end(),
                                   [&](const auto& cell) { return cell.second.time > time; });
    if (older) return;
    row.cells.clear();
  }
  for (const std::string& field : kept) {
    const bool compact = table.compacts() && IsSpelled(field);
    Cell& cell = row.cells.try_emplace(compact ? std::string(kCompact) : field).first->second;
    if (time >= cell.time) cell = {time, event.fields[field]};
  }
}

void Truth::Delete(const std::map<std::string, json>& entity, int64_t from, int64_t to) {
  const auto is_meant = [&](const json& fields) {
    return std::all_of(entity.begin(), entity.end(), [&](const auto& field) {
      return fields.contains(field.first) && fields[field.first] == field.second;
    });
  };
  for (Sent& event : events_) {
    if (!is_meant(event.fields)) continue;
    for (const auto& [field, time] : event.times) {
      if (time >= from && time < to) event.gone.insert(field);
    }
  }
  for (auto& [name, rows] : latest_) {
    for (auto& [key, row] : rows) {
      if (!is_meant(row.entity)) continue;
      std::erase_if(row.cells, [&](const auto& cell) {
        return cell.second.time >= from && cell.second.time < to;
      });
    }
  }
}

void Truth::Drop(const std::string& table) {
  for (Sent& event : events_) {
    event.under.erase(table);
    event.entered.erase(table);
    event.perhaps.erase(table);
    event.dropped = event.entered.empty();
  }
  latest_.erase(table);
  forgot_.erase(table);
}

json Truth::SomeValue(const std::string& field, Chance* chance) const {
  std::vector<json> values;
  for (const Sent& event : events_) {
    if (event.fields.contains(field)) values.push_back(event.fields[field]);
  }
  return values.empty() ? json() : chance->Of(values);
}

bool Truth::IsIdentifying(const std::string& field) const {
  return std::any_of(tables_.begin(), tables_.end(),
                     [&](const auto& table) { return table.second.IsKey(field); });
}

std::set<std::string> Truth::SpellingsSeen() const {
  std::set<std::string> seen;
  for (const std::string& spelling : kSpelled) {
    if (seen_.contains(spelling)) seen.insert(spelling);
  }
  return seen;
}

bool Truth::CanFilter(const ModelQuery& query, const TableModel& table) const {
  return std::all_of(query.filters.begin(), query.filters.end(),
                     [&](const auto& filter) { return table.Holds(filter.first); });
}

bool Truth::SpellingsAreOne(const ModelQuery& query) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const auto& each) {
    const TableModel& table = each.second;
    if (!table.compacts() || !table.Holds(std::string(kCompact))) return false;
    if (SpellingsSeen().size() < 2) return true;
    const std::set<std::string> asked = Asked(query, false);
    const bool holds_some =
        asked.empty() || std::any_of(asked.begin(), asked.end(), [&](const auto& field) {
          return IsTime(field) || table.Holds(field);
        });
    return !table.is_latest() && holds_some && CanFilter(query, table);
  });
}

// A latest table has but itself to keep them as one, unless there is only one.
bool Truth::KeepsAsOne(const TableModel& latest) const {
  const bool any = std::any_of(tables_.begin(), tables_.end(), [](const auto& each) {
    return each.second.compacts() && each.second.Holds(std::string(kCompact));
  });
  return latest.compacts() || (any && SpellingsSeen().size() < 2);
}

// The contract does not say whether a glob stands for what the file alone names. It does, as
// such a name does where it is asked for by itself: a key field beside it is no reason to want an
// event.
std::set<std::string> Truth::Known() const {
  std::set<std::string> known = seen_;
  for (const auto& [name, table] : tables_) {
    for (const auto& [family, rule] : table.rules) {
      known.insert(rule.fields.begin(), rule.fields.end());
    }
  }
  return known;
}

std::set<std::string> Truth::Asked(const ModelQuery& query, bool one_spelling) const {
  std::set<std::string> asked;
  for (const std::string& pattern : query.fields) {
    if (pattern.back() != '*') {
      asked.insert(pattern);
      if (one_spelling && IsSpelled(pattern)) asked.insert(kSpelled.begin(), kSpelled.end());
      continue;
    }
    std::set<std::string> known = Known();
    if (one_spelling) known.emplace(kCompact);
    for (const std::string& field : known) {
      if (field.starts_with(pattern.substr(0, pattern.size() - 1))) {
        asked.insert(field);
        if (one_spelling && IsSpelled(field)) asked.insert(kSpelled.begin(), kSpelled.end());
      }
    }
  }
  return asked;
}

// Beside measured fields, those that say whose event it is are no reason to want it, nor is the
// time that the table goes by.
bool Truth::IsWanted(const std::set<std::string>& asked, const TableModel& table,
                     const json& fields) const {
  const auto is_time = [&](const std::string& field) {
    return IsTime(field) || field == table.time;
  };
  const bool measured = std::any_of(asked.begin(), asked.end(), [&](const std::string& field) {
    return !IsIdentifying(field) && !is_time(field);
  });
  return std::any_of(asked.begin(), asked.end(), [&](const std::string& field) {
    return fields.contains(field) && !(measured && (IsIdentifying(field) || is_time(field)));
  });
}

bool Truth::Passes(const ModelQuery& query, const json& fields, bool one_spelling) const {
  return std::all_of(query.filters.begin(), query.filters.end(), [&](const auto& filter) {
    const bool any_spelling = one_spelling && IsSpelled(filter.first);
    for (const auto& [field, value] : fields.items()) {
      if (field != filter.first && !(any_spelling && IsSpelled(field))) continue;
      for (const json& asked : filter.second) {
        if (Matches(value, asked)) return true;
      }
    }
    return false;
  });
}

std::vector<Truth::Row> Truth::Rows(const ModelQuery& query, const TableModel& table) const {
  const bool one = SpellingsAreOne(query);
  const std::set<std::string> seen = SpellingsSeen();
  const std::string shown_as = seen.size() == 1 ? *seen.begin() : last_spelling_;
  const std::set<std::string> asked = Asked(query, one);
  const auto is_shown = [&](const std::string& field) {
    if (IsTime(field) || field == table.time) return false;
    if (table.IsKey(field) || asked.contains(field)) return true;
    return query.fields.empty() &&
           std::any_of(tables_.begin(), tables_.end(), [&](const auto& each) {
             return !each.second.is_latest() && CanFilter(query, each.second) &&
                    each.second.Holds(field);
           });
  };
  std::map<std::pair<int64_t, std::string>, Row> rows;  // By time and whose it is.
  for (const Sent& event : events_) {
    const auto time = event.times.find(table.time);
    if (event.dropped || event.gone.contains(table.time) || !Passes(query, event.fields, one))
      continue;
    if (!query.fields.empty() && !IsWanted(asked, table, event.fields)) continue;
    const int64_t at = time == event.times.end() ? -1 : time->second;
    if (at >= 0 && (at < query.from || at >= query.to)) continue;
    const std::string whose =
        event.fields.value("host", json()).dump() + event.fields.value("id", json()).dump();
    Row& row = rows[{at, whose}];
    row.time = at;
    for (const auto& [field, value] : event.fields.items()) {
      if (is_shown(field)) row.fields[one && IsSpelled(field) ? shown_as : field] = value;
    }
  }
  std::vector<Row> in_order;
  for (auto& [time, row] : rows) in_order.push_back(std::move(row));
  return in_order;
}

bool Truth::IsAtRisk(const TableModel& table) const {
  return table.MayMergeIds() && std::ranges::any_of(tables_, [&](const auto& each) {
           return each.first != table.name && each.second.IsKey("id");
         });
}

bool Truth::HasMerged(const TableModel& table) const {
  if (!table.MayMergeIds()) return false;
  std::map<std::pair<int64_t, std::string>, json> ids;  // By time and host.
  return std::ranges::any_of(events_, [&](const Sent& event) {
    const auto time = event.times.find(table.time);
    if (time == event.times.end() || !event.fields.contains("id")) return false;
    const auto [known, is_new] = ids.try_emplace(
        {time->second, event.fields["host"].get<std::string>()}, event.fields["id"]);
    return !is_new && known->second != event.fields["id"];
  });
}

// What the table did not keep of an event that it saw.
std::string Truth::Missed(const Sent& event, const TableModel& table,
                          const std::set<std::string>& wanted, bool all) const {
  const std::set<std::string> kept = table.Kept(event.fields);
  for (const auto& [field, value] : event.fields.items()) {
    if (field == table.time || !(all || wanted.contains(field))) continue;
    if (kept.contains(field) || (!kept.empty() && table.IsKey(field))) continue;
    if (table.Holds(field) || !all) return "it missed " + field;
  }
  return "";
}

std::string Truth::MayLack(const ModelQuery& query, const TableModel& table, int64_t now) const {
  if (table.is_latest()) return "latest only";
  if (table.time != "ts") return "a time of its own";
  if (!CanFilter(query, table)) return "it holds no filter";
  if (IsAtRisk(table) && !table.TellsIds()) return "it cannot tell ids apart";
  if (HasMerged(table)) return "events fell on one cell";
  const bool one = SpellingsAreOne(query);
  const bool all = query.fields.empty();
  std::set<std::string> wanted = Asked(query, one);
  const auto is_held = [&](const std::string& field) {
    return IsTime(field) || table.Holds(field);
  };
  if (!all && std::none_of(wanted.begin(), wanted.end(), is_held)) return "it holds none of them";
  for (const auto& [field, values] : query.filters) {
    wanted.insert(field);
    if (one && IsSpelled(field)) wanted.insert(kSpelled.begin(), kSpelled.end());
  }
  for (const std::string& field : wanted) {
    const bool by_name = query.filters.contains(field) || std::ranges::count(query.fields, field);
    const bool unsent = IsSpelled(field) && !seen_.contains(field) && (one || by_name);
    if (unsent && (!table.compacts() || !table.Holds(field)) && SpellingsSeen().size() > 1)
      return "it keeps spellings apart";
  }
  for (const std::string& field : seen_) {
    if (IsTime(field) || !(all || wanted.contains(field))) continue;
    const bool held_elsewhere = std::any_of(tables_.begin(), tables_.end(), [&](const auto& each) {
      const TableModel& other = each.second;
      if (other.is_latest()) return false;
      // The contract does not say whether a table holds the time that it goes by. It does.
      return other.Holds(field) || (other.time == field && CanFilter(query, other));
    });
    if (!table.Holds(field) && (held_elsewhere || !all)) return "it does not hold " + field;
    if (risky_.contains(field) && !table.HoldsTyped(field)) return "it keeps as text " + field;
    if (one && IsSpelled(field) && !table.compacts() && SpellingsSeen().size() > 1) {
      return "it keeps spellings apart";
    }
  }
  if (forgot_.contains(table.name)) {
    if (!table.max_age_ms || table.max_versions) return "it forgot";
    if (query.from <= now - *table.max_age_ms * 1000) return "it forgets";
  }
  // Where tables forget by age, or go by times of their own, nobody knows how late the past was.
  const bool past_is_dim = forgot_by_age_ || own_time_;
  for (const Sent& event : events_) {
    const auto under = event.under.find(table.name);
    const bool saw = under != event.under.end() && under->second == shared_.at(table.name);
    for (const auto& [field, time] : event.times) {
      if (!saw && (past_is_dim || time >= query.from)) return "it was not there, or was another";
    }
    if (under == event.under.end()) continue;
    if (std::string missed = Missed(event, *under->second, wanted, all); !missed.empty()) {
      return missed;
    }
  }
  return "";
}

bool Truth::Knows(const Row& row, const TableModel& table) const {
  return std::any_of(events_.begin(), events_.end(), [&](const Sent& event) {
    const bool at = std::any_of(event.times.begin(), event.times.end(), [&](const auto& time) {
      const bool may_be_kept = !event.dropped || !event.perhaps.empty();
      return time.second == row.time && may_be_kept && !event.gone.contains(time.first);
    });
    return at &&
           std::all_of(
               table.key_fields.begin(), table.key_fields.end(), [&](const std::string& field) {
                 return row.fields.value(field, json()) == event.fields.value(field, json());
               });
  });
}

std::vector<Truth::Row> Truth::LatestRows(const ModelQuery& query, const TableModel& table) const {
  std::vector<Row> rows;
  const auto of_table = latest_.find(table.name);
  if (of_table == latest_.end()) return rows;
  const std::set<std::string> asked = Asked(query, KeepsAsOne(table));
  for (const auto& [key, latest] : of_table->second) {
    if (latest.cells.empty()) continue;
    json all = latest.entity;
    for (const auto& [field, cell] : latest.cells) all[field] = cell.value;
    if (!Passes(query, all, KeepsAsOne(table))) continue;
    all[table.time] = true;  // Whatever entered has that.
    if (!query.fields.empty() && !IsWanted(asked, table, all)) continue;
    Row row{0, latest.entity};
    for (const auto& [field, cell] : latest.cells) {
      if (IsTime(field) || field == table.time) continue;
      if (!query.fields.empty() && !asked.contains(field)) continue;
      if (query.fields.empty()) row.time = std::max(row.time, cell.time);
      row.fields[table.compacts() && IsSpelled(field) ? last_spelling_ : field] = cell.value;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Truth::LatestMayLack(const ModelQuery& query, const TableModel& table) const {
  if (!CanFilter(query, table)) return "it holds no filter";
  const std::set<std::string> asked = Asked(query, KeepsAsOne(table));
  for (const std::string& field : asked) {
    if (!table.Holds(field)) return "it does not hold " + field;
  }
  for (const std::string& field : seen_) {
    if (!query.fields.empty() && !asked.contains(field)) continue;
    if (risky_.contains(field) && !table.HoldsTyped(field)) return "it keeps as text " + field;
  }
  for (const Sent& event : events_) {
    const auto under = event.under.find(table.name);
    if (under == event.under.end() || under->second != shared_.at(table.name))
      return "it was not there";
  }
  return "";
}

}  // namespace tallyd
