#include "storage/catalogue/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/schema/gone_rule.h"
#include "storage/catalogue/record_codec.h"

namespace tallyd {
namespace {

std::string_view KeepOf(TableMode mode) { return mode == TableMode::kLatestRow ? "row" : "cell"; }

// What a family is may not change either.
void AddFamilyDifferences(const TableInfo& stored, const Table& configured,
                          std::string* differences) {
  for (const Family& family : configured.families) {
    const std::optional<FamilyId> known = stored.FindFamily(family.name);
    if (!known || SameKind(stored.families[*known].last, family)) continue;
    if (!differences->empty()) *differences += "; ";
    *differences += fmt::format("family {} is {} in the stored data and {} in the configuration",
                                family.name, KindOf(stored.families[*known].last), KindOf(family));
  }
}

// Of the marks of a rule the one that applied first: the later ones were made when a rule went that
// is back. Null if there is none.
const RuleMark* Oldest(const std::vector<RuleMark>& marks, const std::string& rule) {
  const RuleMark* oldest = nullptr;
  for (const RuleMark& mark : marks) {
    if (mark.rule == rule && (oldest == nullptr || mark.since < oldest->since)) oldest = &mark;
  }
  return oldest;
}

template <class T>
bool Loosened(const std::optional<T>& before, const std::optional<T>& after) {
  return before && (!after || *after > *before);
}

// What a family may have forgotten that it is to keep from now on: 0 is nothing.
TimeUs ForgottenUntil(const Family& before, const Family& after, bool one_event_a_row, TimeUs end,
                      TimeUs now) {
  const bool now_by_both = after.expire_by_both && !before.expire_by_both;
  const bool by_versions = Loosened(before.max_versions, after.max_versions) ||
                           (now_by_both && before.max_versions.has_value());
  const bool by_age = Loosened(before.max_age_us, after.max_age_us) ||
                      (now_by_both && before.max_age_us.has_value());
  const TimeUs too_old = before.max_age_us ? std::max<TimeUs>(now - *before.max_age_us, 0) : end;
  if (before.expire_by_both) return by_age || by_versions ? std::min(too_old, end) : 0;
  if (by_versions && !one_event_a_row) return end;
  return by_age ? std::min(too_old, end) : 0;
}

bool SameGc(const Family& a, const Family& b) {
  return a.max_age_us == b.max_age_us && a.max_versions == b.max_versions &&
         a.expire_by_both == b.expire_by_both;
}

// No mark lies behind what the stream has.
void Cap(TimeUs end, TableInfo* table) {
  const auto cap = [end](TimeUs* whole_from) { *whole_from = std::min(*whole_from, end); };
  cap(&table->membership.whole_from);
  for (RuleMark& mark : table->rules) cap(&mark.whole_from);
  for (StoredFamily& family : table->families) cap(&family.whole_from);
}

bool AnyMark(const TableInfo& table) {
  return table.membership.whole_from > 0 ||
         std::any_of(table.rules.begin(), table.rules.end(),
                     [](const RuleMark& mark) { return mark.whole_from > 0; }) ||
         std::any_of(table.families.begin(), table.families.end(),
                     [](const StoredFamily& family) { return family.whole_from > 0; });
}

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// Whether the configuration says of the table what its record says.
bool IsConfiguredSo(const Table& configured, const TableInfo& table) {
  if (table.membership.away_since > 0 || table.time_field != configured.time_field ||
      table.when != Sorted(configured.when)) {
    return false;
  }
  size_t applying = 0;
  for (const RuleMark& mark : table.rules) {
    applying += mark.away_since == 0 && !mark.rule.empty();
  }
  if (applying != configured.columns.size()) return false;
  for (size_t i = 0; i < applying; ++i) {
    if (table.rules[i].rule != CanonicalText(configured.columns[i])) return false;
  }
  return std::all_of(configured.families.begin(), configured.families.end(),
                     [&](const Family& family) {
                       const auto known = table.FindFamily(family.name);
                       return known && SameGc(table.families[*known].last, family) &&
                              SameKind(table.families[*known].last, family);
                     });
}

}  // namespace

std::string Difference(std::string_view what, std::string_view stored,
                       std::string_view configured) {
  if (stored == configured) return {};
  return fmt::format("{} is \"{}\" in the stored data and \"{}\" in the configuration", what,
                     stored, configured);
}

TableMode ModeOf(const Table& table) {
  if (!KeepsNewest(table)) return TableMode::kHistory;
  return table.keep_row ? TableMode::kLatestRow : TableMode::kLatestCell;
}

std::string Differences(const TableInfo& stored, const Table& configured) {
  const TableMode mode = ModeOf(configured);
  std::string differences;
  for (const std::string& difference :
       {Difference("stream", stored.stream, configured.stream),
        Difference("pattern", stored.pattern, ToString(configured.pattern)),
        Difference("row_key", stored.row_key, configured.row_key.text()),
        stored.mode == TableMode::kHistory || mode == TableMode::kHistory
            ? std::string()
            : Difference("keep", KeepOf(stored.mode), KeepOf(mode))}) {
    if (difference.empty()) continue;
    if (!differences.empty()) differences += "; ";
    differences += difference;
  }
  AddFamilyDifferences(stored, configured, &differences);
  return differences;
}

bool Adoption::IsEmpty(std::string_view stream) {
  return std::all_of(stored_.begin(), stored_.end(), [&](const auto& each) {
    return each.second.stream != stream || past_.IsEmpty(each.second);
  });
}

const TableInfo* Adoption::FindWithLabels(std::string_view stream) {
  for (const auto& [id, table] : stored_) {
    if (table.stream != stream) continue;
    const auto row_key = RowKeyTemplate::Parse(table.row_key, table.time_field);
    if (row_key && row_key->holds_labels() && !past_.IsEmpty(table)) return &table;
  }
  return nullptr;
}

TimeUs Adoption::EndOf(const TableInfo& table) {
  const auto known = ends_.find(table.id);
  if (known != ends_.end()) return known->second;
  TimeUs end = past_.EndOf(table);
  // What it had and forgot by age is still a part of the past.
  for (const StoredFamily& family : table.families) {
    if (!family.last.max_age_us || !past_.EverTook(table.stream)) continue;
    end = std::max(end, past_.now() - *family.last.max_age_us);
  }
  return ends_[table.id] = end;
}

TimeUs Adoption::EndOf(std::string_view stream, std::string_view time_field) {
  TimeUs end = 0;
  for (const auto& [id, table] : stored_) {
    if (table.stream != stream) continue;
    const TimeUs of_table = EndOf(table);
    if (of_table > 0 && table.time_field != time_field) return kNeverWhole;
    end = std::max(end, of_table);
  }
  return end;
}

bool Adoption::TookSince(std::string_view stream, uint64_t sequence) {
  return std::any_of(stored_.begin(), stored_.end(), [&](const auto& each) {
    return each.second.stream == stream && past_.TookSince(each.second, sequence);
  });
}

bool Adoption::MayResume(std::string_view stream, const RuleMark& mark) {
  return mark.away_since == 0 || !TookSince(stream, mark.away_since - 1);
}

RuleMark Adoption::NewMark(std::string rule, TimeUs end) const {
  RuleMark mark;
  mark.rule = std::move(rule);
  mark.since = past_.sequence();
  mark.whole_from = end;
  mark.adoption = number_;
  return mark;
}

// One more than the sequence, as 0 says that the mark applies.
void Adoption::Retire(RuleMark* mark) const {
  if (mark->away_since == 0) mark->away_since = past_.sequence() + 1;
}

// Batches that were made while it was away are yet to be committed: it missed their events like a
// mark that is new (Catalogue::CoverLate).
void Adoption::Resume(RuleMark* mark) const {
  if (mark->away_since == 0) return;
  mark->away_since = 0;
  mark->adoption = number_;
}

bool Adoption::Configure(const Table& configured, TimeUnit unit, TableInfo* table) {
  const bool same = IsConfiguredSo(configured, *table);
  if (same && !AnyMark(*table)) return false;
  const std::string before = EncodeTable(*table);
  const TimeUs end = EndOf(table->stream, configured.time_field);
  if (!same) {
    ConfigureMembership(configured, end, table);
    ConfigureRules(configured, end, table);
    ConfigureFamilies(configured, unit, end, table);
  }
  Cap(end, table);
  return EncodeTable(*table) != before;
}

void Adoption::ConfigureMembership(const Table& configured, TimeUs end, TableInfo* table) {
  std::vector<std::string> when = Sorted(configured.when);
  // Without a field of the row key no event enters, asked for or not.
  const bool asks_no_less = std::ranges::all_of(table->when, [&](const std::string& field) {
    return configured.row_key.UsesField(field) ||
           std::binary_search(when.begin(), when.end(), field);
  });
  const bool is_new = table->families.empty();
  const bool keeps = !is_new && table->time_field == configured.time_field && asks_no_less &&
                     MayResume(table->stream, table->membership);
  if (keeps) {
    Resume(&table->membership);
  } else {
    table->membership = NewMark({}, end);
  }
  table->time_field = configured.time_field;
  table->when = std::move(when);
}

void Adoption::ConfigureRules(const Table& configured, TimeUs end, TableInfo* table) {
  std::vector<RuleMark> before = std::exchange(table->rules, {});
  std::vector<RuleMark> gone;  // For good: their cells are there all the same.
  std::erase_if(before, [&](const RuleMark& mark) {
    if (MayResume(table->stream, mark)) return false;
    if (!mark.rule.empty()) gone.push_back(mark);
    return true;
  });
  std::vector<size_t> added;
  for (const ColumnRule& rule : configured.columns) {
    std::string text = CanonicalText(rule);
    const RuleMark* known = Oldest(before, text);
    if (known != nullptr) {
      table->rules.push_back(*known);
      Resume(&table->rules.back());
    } else {
      added.push_back(table->rules.size());
      table->rules.push_back(NewMark(text, end));
    }
  }
  // A new rule may be read for the columns of one that stays.
  const std::vector<ColumnRule>& rules = configured.columns;
  for (size_t i = 0; i < rules.size(); ++i) {
    const bool is_shadowed = std::any_of(added.begin(), added.end(), [&](size_t other) {
      return other != i && MayShareColumns(rules[other], rules[i]);
    });
    if (!is_shadowed) continue;
    table->rules[i] = NewMark(std::move(table->rules[i].rule), end);
    std::erase_if(before, [&](const RuleMark& mark) { return mark.rule == table->rules[i].rule; });
  }
  JudgeGone(configured, end, &before, table);
  std::vector<RuleMark> away;
  for (const RuleMark& mark : before) {
    const bool applies = std::any_of(
        table->rules.begin(), table->rules.end(),
        [&](const RuleMark& each) { return each.rule == mark.rule && each.since == mark.since; });
    if (applies || Oldest(before, mark.rule) != &mark) continue;
    away.push_back(mark);
    Retire(&away.back());
  }
  table->rules.insert(table->rules.end(), away.begin(), away.end());
  for (const RuleMark& mark : gone) {
    const bool is_told = std::ranges::any_of(
        table->rules, [&](const RuleMark& each) { return each.rule == mark.rule; });
    if (!is_told) table->rules.push_back(mark);
  }
}

// What a rule that goes took alone was not noted as missed by those that stay: neither its fields
// nor its events.
void Adoption::JudgeGone(const Table& configured, TimeUs end, std::vector<RuleMark>* before,
                         TableInfo* table) {
  std::vector<std::optional<ColumnRule>> gone;
  for (const RuleMark& mark : *before) {
    const bool stays = std::any_of(table->rules.begin(), table->rules.end(),
                                   [&](const RuleMark& each) { return each.rule == mark.rule; });
    if (!stays && !mark.rule.empty()) {
      gone.push_back(FromCanonicalText(mark.rule, configured.time_field));
    }
  }
  const auto any_gone = [&](const auto& is_missed) {
    return std::any_of(gone.begin(), gone.end(),
                       [&](const auto& rule) { return !rule || is_missed(*rule); });
  };
  for (size_t i = 0; i < configured.columns.size(); ++i) {
    if (any_gone([&](const ColumnRule& rule) {
          return !KeepsWithout(rule, configured.columns[i], configured);
        })) {
      table->rules[i] = NewMark(std::move(table->rules[i].rule), end);
    }
  }
  const RuleMark* events = Oldest(*before, "");
  if (any_gone([&](const ColumnRule& rule) { return !EntersWithout(rule, configured); })) {
    // That there was none may apply again, too.
    if (events == nullptr) before->emplace_back();
    table->rules.push_back(NewMark("", end));
  } else if (events != nullptr && events->whole_from > 0) {
    table->rules.push_back(*events);
    Resume(&table->rules.back());
  }
}

void Adoption::ConfigureFamilies(const Table& configured, TimeUnit unit, TimeUs end,
                                 TableInfo* table) {
  for (const Family& family : configured.families) {
    const std::optional<FamilyId> known = table->FindFamily(family.name);
    if (!known) {
      StoredFamily& added = table->families.emplace_back();
      added.name = family.name;
      added.last = family;
      continue;
    }
    StoredFamily& stored = table->families[*known];
    const TimeUs forgotten =
        ForgottenUntil(stored.last, family, configured.row_key.has_time_of(unit), end, past_.now());
    stored.whole_from = std::max(stored.whole_from, forgotten);
    stored.last = family;
  }
}

bool Adoption::Orphan(TableInfo* table) {
  if (table->membership.away_since > 0 || !past_.MayOrphan(*table)) return false;
  Retire(&table->membership);
  for (RuleMark& mark : table->rules) Retire(&mark);
  return true;
}

}  // namespace tallyd
