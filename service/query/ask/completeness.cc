#include "service/query/ask/completeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "config/schema/merge_risk.h"
#include "config/schema/table_rules.h"
#include "storage/merge_witness.h"

namespace tallyd {
namespace {

template <class List, class T>
bool Contains(const List& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// "...; it may lack events before ..."
std::string Before(TimeUs whole_from) {
  if (whole_from >= kNeverWhole) return "it may lack earlier ones, whatever their time";
  return "it may lack those before " + FormatRfc3339(whole_from);
}

// Judges one table that can answer: each rule of the header adds to what it may lack.
class Judge {
 public:
  Judge(const EventQuery& query, const Wanted& wanted, TablePlan* plan)
      : query_(query), wanted_(wanted), plan_(*plan), table_(*plan->table) {}

  void JudgeHistory(const Store& store) {
    if (table_.flush_us) {
      MayLack(kNeverWhole, table_.name + " holds what counters added up to, not each event");
    }
    for (const Family& family : table_.families) JudgeFamily(family);
    JudgeSourceVersions();
    JudgeMarks();
    JudgeMissed(store.MissedFields(*plan_.stored));
    JudgeLabels();
    if (query_.access.is_scoped()) {
      JudgeUntoldMerging();
    } else {
      plan_.at_risk = IsAtRisk(store, *plan_.stored);
      JudgeMerged(MergedIn(store, *plan_.stored));
    }
    JudgeTypes();
    plan_.standing = plan_.reason.empty() ? Standing::kWhole : Standing::kPartial;
  }

  // What has expired is not the latest, and what is the latest goes by any time.
  void JudgeLatest() {
    JudgeMarks();
    JudgeTypes();
    plan_.standing = plan_.reason.empty() ? Standing::kWhole : Standing::kPartial;
  }

 private:
  bool Uses(const ColumnRule& rule, std::string_view field) const {
    return GivenBack(table_, rule, field) != Fidelity::kNone;
  }
  // A field that is wanted and that the rule takes; null if there is none.
  const std::string* WantedOf(const ColumnRule& rule) const {
    for (const auto* list : {&wanted_.fields, &wanted_.others}) {
      for (const std::string& field : *list) {
        if (Uses(rule, field)) return &field;
      }
    }
    return nullptr;
  }
  // Where every event is wanted, every rule tells of some.
  bool Matters(const ColumnRule& rule) const {
    return wanted_.every_row || WantedOf(rule) != nullptr;
  }

  // The name by which the table gives back what an event brought as `name`.
  std::string Here(const std::string& name) const {
    return SpellingIn(table_, name, query_.known->spellings());
  }
  bool IsAsked(const std::string& sent_as) const {
    return query_.fields.empty() || Contains(wanted_.fields, Here(sent_as));
  }

  // Filters match by text, but comparisons by type.
  bool IsCompared(const std::string& sent_as) const {
    return Contains(query_.wheres | std::views::transform(&Where::field), Here(sent_as));
  }

  // What came before `whole_from` may be missing.
  void MayLack(TimeUs whole_from, const std::string& reason) {
    if (whole_from <= query_.time.from) return;
    if (whole_from > plan_.lack.whole_from || plan_.reason.empty()) plan_.reason = reason;
    plan_.lack.whole_from = std::max(plan_.lack.whole_from, whole_from);
  }

  // The time of a mark is that of events of whomever: whoever has a scope is not told it.
  void JudgeMark(const RuleMark& mark, const std::string& what) {
    newest_ = std::max(newest_, mark.since);
    const bool is_untold = query_.access.is_scoped() && mark.whole_from > 0;
    const TimeUs whole_from = is_untold ? kNeverWhole : mark.whole_from;
    if (whole_from <= query_.time.from) return;
    plan_.lack.since = std::max(plan_.lack.since, mark.since);
    MayLack(whole_from,
            fmt::format("{} when the stream had events already: {}", what, Before(whole_from)));
  }

  void JudgeMarks() {
    JudgeMark(plan_.stored->membership, table_.name + " joined the stream");
    for (const ColumnRule& rule : table_.columns) {
      if (!Matters(rule)) continue;
      const std::string text = CanonicalText(rule);
      const auto& marks = plan_.stored->rules;
      const auto mark = std::find_if(marks.begin(), marks.end(),
                                     [&](const RuleMark& each) { return each.rule == text; });
      if (mark == marks.end()) {
        MayLack(kNeverWhole, "the rules of " + table_.name + " are being changed");
        continue;
      }
      const std::string* field = WantedOf(rule);
      JudgeMark(*mark, field == nullptr
                           ? "a rule of " + table_.name + " was added"
                           : "the rule of " + table_.name + " for " + *field + " was added");
    }
    for (const RuleMark& mark : plan_.stored->rules) {
      if (!mark.rule.empty() || mark.away_since > 0 || !wanted_.every_row) continue;
      JudgeMark(mark, "a rule of " + table_.name + " was removed");
    }
  }

  bool Matters(const Family& family) const {
    return std::ranges::any_of(table_.columns, [&](const ColumnRule& rule) {
      return rule.family == family.name && Matters(rule);
    });
  }

  // Whether a row may have more than one version of a column.
  bool HasVersions(const Table& table) const {
    const Stream* const stream = query_.schema().FindStream(table.stream);
    return stream == nullptr || !table.row_key.has_time_of(stream->unit);
  }

  // A nightly table has what its source had of the day when it was built: not what that let go by
  // the number of versions alone.
  void JudgeSourceVersions() {
    if (!table_.nightly) return;
    const Table* const source = query_.schema().FindTable(table_.nightly->source);
    if (source == nullptr || !HasVersions(*source)) return;
    for (const Family& family : source->families) {
      const bool needs_age = family.max_age_us && !AgeAlone(family);
      if (!family.max_versions || needs_age || !Matters(family)) continue;
      MayLack(kNeverWhole, fmt::format("family {} of {}, which {} is made of, forgets all but the "
                                       "newest {} cells of a column and row",
                                       family.name, source->name, table_.name,
                                       *family.max_versions));
    }
  }

  void JudgeFamily(const Family& family) {
    if (!Matters(family)) return;
    const std::string where = "family " + family.name + " of " + table_.name;
    const bool overflows = family.max_versions && HasVersions(table_);
    const std::string versions = fmt::format("all but the newest {} cells of a column and row",
                                             family.max_versions.value_or(0));
    const TimeUs too_old = family.max_age_us ? query_.now - *family.max_age_us : 0;
    const std::string older =
        family.max_age_us ? "cells older than " + FormatDuration(*family.max_age_us) : "";
    const bool by_age = AgeAlone(family).has_value();
    if (by_age) MayLack(too_old, where + " forgets " + older);
    if (overflows && family.max_age_us && !by_age) {
      MayLack(too_old, fmt::format("{} forgets {} beyond the newest {} of a column and row", where,
                                   older, *family.max_versions));
    } else if (overflows) {
      MayLack(kNeverWhole, where + " forgets " + versions);
    }
    JudgeLetGo(family, where);
  }

  // How far the oldest went goes by what all store, and by the newest event of whomever: whoever
  // has a scope hears what the table's rules allow, whether or not any did.
  void JudgeLetGo(const Family& family, const std::string& where) {
    const auto stored = plan_.stored->FindFamily(family.name);
    if (!stored) return;
    const TimeUs from = plan_.stored->families[*stored].whole_from;
    const bool is_capped = plan_.stored->max_bytes > 0;
    if (query_.access.is_scoped()) {
      if (is_capped) MayLack(kNeverWhole, where + " may let the oldest go, by max_bytes");
      if (!is_capped && from > 0) {
        MayLack(kNeverWhole, where + " may have kept less before its rules changed");
      }
      return;
    }
    const char* why = is_capped ? " let the oldest go, by max_bytes or by rules that it had: "
                                : " kept less before its rules changed: ";
    MayLack(from, where + why + Before(from));
  }

  // What was missed before a rule that matters began to apply, its mark tells.
  void JudgeMissed(const std::vector<MissedField>& missed) {
    const bool all_entered = AnyFilteredIsNeverOutside(missed);
    for (const MissedField& each : missed) {
      if (each.sequence <= newest_) continue;
      const bool is_any = each.name.empty();
      const bool is_reason =
          is_any || wanted_.any_event || Contains(wanted_.reasons, Here(each.name));
      const bool is_wanted =
          is_any || IsAsked(each.name) || Contains(wanted_.others, Here(each.name));
      const std::string name = is_any ? "one of many fields" : each.name;
      const bool outside = (each.how & kMissedOutside) != 0;
      const bool inside = (each.how & kMissedInside) != 0;
      if (outside && is_reason && !all_entered) {
        MayLack(kNeverWhole, WhyOutside(name));
      }
      if (inside && is_wanted) {
        MayLack(kNeverWhole, table_.name + " left " +
                                 (is_any ? "fields out of some events, or gives them back as others"
                                         : name + " out of some events"));
      }
    }
  }

  // Of a field that was a label of some events and ordinary in others the key tells the former.
  void JudgeLabels() {
    if (!table_.row_key.holds_labels()) return;
    for (const std::string& name : query_.known->names()) {
      const bool is_both = query_.known->WasLabel(name) && !query_.known->IsLabelAlone(name);
      if (!is_both || TableHolds(table_, name)) continue;
      if (!IsAsked(name) && !Contains(wanted_.others, Here(name))) continue;
      MayLack(kNeverWhole,
              table_.name + " keeps " + name + " only of events of which it is a label");
    }
  }

  // Whether every event that had a filtered field has entered: then so has each one that is wanted.
  bool AnyFilteredIsNeverOutside(const std::vector<MissedField>& missed) const {
    return std::ranges::any_of(query_.FilteredFields(), [&](const std::string& field) {
      return std::none_of(missed.begin(), missed.end(), [&](const MissedField& each) {
        return (each.name.empty() || Here(each.name) == field) &&
               (each.how & kMissedOutside) != 0 && each.sequence > newest_;
      });
    });
  }

  std::string WhyOutside(const std::string& field) const {
    if (table_.when.empty()) return table_.name + " has not all events that came with " + field;
    return table_.name + " takes only events that have " + FirstNames(table_.when) + ", and " +
           field + " came without";
  }

  // With labels that the schema does not name: no column was watched for them.
  MergeRisk Risk(const Schema& schema) const {
    MergeRisk risk = MergeRiskOf(schema, table_);
    if (!MayMergeEvents(table_) || table_.row_key.holds_labels()) return risk;
    const std::vector<std::string> watched = risk.Fields();
    for (const std::string& name : query_.known->names()) {
      const bool is_untold = query_.known->WasLabel(name) && !KeyHolds(table_, name);
      if (is_untold && !Contains(watched, name)) risk.untold.push_back(name);
    }
    return risk;
  }

  std::string WhyMerged(const MergeRisk& risk, uint64_t events) const {
    if (!risk.any() && !risk.serialized.empty()) {
      return fmt::format(
          "{} keeps the fields of an event in one cell, and at least {} events lost some to others "
          "of their row and time",
          table_.name, events);
    }
    if (!risk.any() && !risk.valued.empty()) {
      return fmt::format(
          "{} names columns by values, and at least {} values stand beside their corrections",
          table_.name, events);
    }
    std::string why =
        fmt::format("the row key of {} has let at least {} events fall on cells of others",
                    table_.name, events);
    if (risk.any()) why += ": it lacks " + FirstNames(risk.Fields());
    return why;
  }

  void JudgeMerged(const MergedEvents& merged) {
    const MergeRisk risk = Risk(query_.schema());
    std::string reason;
    if (merged.any) {
      plan_.lack.merging = Merging::kMet;
      reason = WhyMerged(risk, merged.count);
    } else if (!risk.untold.empty()) {
      plan_.merging_unknown_before = kNeverWhole;
      reason = fmt::format(
          "events that differ in {} alone may have fallen on one cell of {}: neither its row key "
          "nor a column of its own tells",
          FirstNames(risk.untold), table_.name);
    } else if (risk.needs_look() && merged.unknown_before > query_.time.from) {
      plan_.merging_unknown_before = merged.unknown_before;
      const bool any_counted = merged.unknown_before < kNeverWhole;
      reason = fmt::format(
          "events{}{} may have fallen on one cell of {}: {}",
          any_counted ? " before " + FormatRfc3339(merged.unknown_before) : "",
          risk.any() ? " that differ in " + FirstNames(risk.Fields()) + " alone" : "", table_.name,
          any_counted ? "they were stored before that was counted" : "this engine does not look");
    }
    if (plan_.merging_unknown_before > 0) plan_.lack.merging = Merging::kUnknown;
    if (plan_.reason.empty()) plan_.reason = std::move(reason);
  }

  // Whether any did in the table, and how many, is of all whose rows it has: whoever has a scope
  // hears what the schema allows.
  void JudgeUntoldMerging() {
    const MergeRisk risk = Risk(query_.access.view->whole());
    if (!risk.needs_look()) return;
    plan_.merging_unknown_before = kNeverWhole;
    plan_.lack.merging = Merging::kUnknown;
    if (!plan_.reason.empty()) return;
    plan_.reason =
        fmt::format("events{} may have fallen on one cell of {}",
                    risk.any() ? " that differ in " + FirstNames(risk.Fields()) + " alone"
                               : std::string(" of one row and time"),
                    table_.name);
  }

  void JudgeTypes() {
    std::vector<std::string> changed;
    for (const std::string& field : query_.known->names()) {
      if (!query_.known->ReadsAsAnother(field) || query_.IsTime(table_, field)) continue;
      if (!IsAsked(field) && !IsCompared(field)) continue;
      if (MayComeAsText(table_, field)) changed.push_back(field);
    }
    if (changed.empty()) return;
    plan_.lack.changed = changed.size();
    if (!plan_.reason.empty()) return;
    plan_.reason = fmt::format(
        "{} keeps {} as text: bools and bytes come back as strings, strings that spell a number as "
        "numbers",
        table_.name, FirstNames(changed));
  }

  const EventQuery& query_;
  const Wanted& wanted_;
  TablePlan& plan_;
  const Table& table_;
  uint64_t newest_ = 0;  // The commit before which the last of the rules that matter did not apply.
};

// Where tables that could answer go by different times, those that go by the stream's are right. A
// time of their own is that of what no other table holds.
void JudgeTimes(const EventQuery& query, const std::vector<bool>& could_answer,
                std::vector<TablePlan>* plans) {
  const std::string* time = nullptr;
  bool agree = true;
  for (size_t i = 0; i < plans->size(); ++i) {
    if (!could_answer[i]) continue;
    const std::string& of_table = (*plans)[i].table->time_field;
    agree = agree && (time == nullptr || *time == of_table);
    time = &of_table;
  }
  for (TablePlan& plan : *plans) {
    const std::string& of_table = plan.table->time_field;
    if (agree || plan.standing == Standing::kUnfit || of_table == query.stream->time_field) {
      continue;
    }
    plan.standing = Standing::kPartial;
    plan.lack.other_time = true;
    plan.reason = plan.table->name + " goes by the time in " + of_table +
                  ", and other tables that hold this do not";
  }
}

void AddLacking(const std::vector<std::string>& fields, TablePlan* plan) {
  if (fields.empty() || plan->standing == Standing::kUnfit) return;
  plan->standing = Standing::kPartial;
  plan->lack.fields = fields.size();
  plan->reason = plan->table->name + " does not hold " + FirstNames(fields);
}

// What the table does not hold of what is asked for by name, and events brought.
void JudgeFields(const EventQuery& query, const Wanted& wanted, TablePlan* plan) {
  std::vector<std::string> lacking;
  for (const std::string& field : wanted.fields) {
    const bool was_seen = query.known->WasSeen(field) || !query.known->SpellingsOf(field).empty();
    if (was_seen && !Holds(query, *plan->table, field)) {
      lacking.push_back(field);
    }
  }
  AddLacking(lacking, plan);
}

// Where no field is asked for, all are that any of the candidates holds.
void JudgeAllFields(const EventQuery& query, const std::vector<bool>& could_answer,
                    std::vector<TablePlan>* plans) {
  if (std::count(could_answer.begin(), could_answer.end(), true) < 2) return;
  std::vector<std::vector<std::string>> lacking(plans->size());
  for (const std::string& field : query.known->names()) {
    if (!query.known->WasSeen(field)) continue;
    std::vector<size_t> without;
    size_t with = 0;
    for (size_t i = 0; i < plans->size(); ++i) {
      if (!could_answer[i]) continue;
      const Table& table = *(*plans)[i].table;
      // A table that goes by another time may hold the stream's, or not.
      if (field == table.time_field || Holds(query, table, field)) {
        ++with;
      } else {
        without.push_back(i);
      }
    }
    if (with == 0) continue;
    for (const size_t i : without) lacking[i].push_back(field);
  }
  for (size_t i = 0; i < plans->size(); ++i) AddLacking(lacking[i], &(*plans)[i]);
}

bool AsksFor(const EventQuery& query, const std::string& compact) {
  const auto is_spelling = [&](const std::string& name) { return CompactName(name) == compact; };
  return query.fields.empty() || std::ranges::any_of(query.by, is_spelling) ||
         std::ranges::any_of(query.FilteredFields(), is_spelling) ||
         std::ranges::any_of(query.fields, [&](const std::string& pattern) {
           return is_spelling(pattern) ||
                  std::ranges::any_of(query.known->Matching(pattern), is_spelling);
         });
}

// Whether the table gives these spellings back under several names.
bool KeepsApart(const EventQuery& query, const Table& table,
                const std::vector<std::string>& spellings) {
  std::vector<std::string> names;
  for (const std::string& spelling : spellings) {
    if (!TableHolds(table, spelling)) continue;
    names.push_back(SpellingIn(table, spelling, query.known->spellings()));
  }
  return std::ranges::any_of(names, [&](const std::string& name) { return name != names[0]; });
}

// Whether a compact name that nobody sent is asked for by itself.
bool AsksForUnsent(const EventQuery& query, const std::string& compact) {
  const auto is_unsent = [&](const std::string& name) {
    return CompactName(name) == compact && !query.known->WasSeen(name);
  };
  return std::ranges::any_of(query.by, is_unsent) || std::ranges::any_of(query.fields, is_unsent) ||
         std::ranges::any_of(query.FilteredFields(), is_unsent);
}

// What one table that could answer keeps under one compact name is one field, and whoever asks for
// a spelling asks for all: a table that keeps them apart has but a part of it. So does whoever asks
// for the compact name, whichever table keeps it.
void JudgeSpellings(const EventQuery& query, const std::vector<bool>& could_answer,
                    std::vector<TablePlan>* plans) {
  for (const std::string& compact : query.known->compact_names()) {
    const std::vector<std::string> spellings = query.known->SpellingsOf(compact);
    if (spellings.size() < 2 || !AsksFor(query, compact)) continue;
    bool is_one_field = AsksForUnsent(query, compact);
    for (size_t i = 0; i < plans->size(); ++i) {
      const Table& table = *(*plans)[i].table;
      is_one_field = is_one_field || (could_answer[i] && IsCompacted(table, spellings.back()));
    }
    if (!is_one_field) continue;
    for (TablePlan& plan : *plans) {
      if (plan.standing == Standing::kUnfit || !KeepsApart(query, *plan.table, spellings)) continue;
      ++plan.lack.spelt_apart;
      if (plan.standing == Standing::kPartial) continue;
      plan.standing = Standing::kPartial;
      plan.reason = plan.table->name + " keeps " + FirstNames(spellings) +
                    " apart, which are one field elsewhere";
    }
  }
}

}  // namespace

void JudgeHistory(const EventQuery& query, const Wanted& wanted, const Store& store,
                  TablePlan* plan) {
  Judge(query, wanted, plan).JudgeHistory(store);
  JudgeFields(query, wanted, plan);
}

void JudgeLatest(const EventQuery& query, const Wanted& wanted, TablePlan* plan) {
  Judge(query, wanted, plan).JudgeLatest();
  JudgeFields(query, wanted, plan);
}

void JudgeTogether(const EventQuery& query, const std::vector<bool>& could_answer,
                   std::vector<TablePlan>* plans) {
  JudgeTimes(query, could_answer, plans);
  JudgeSpellings(query, could_answer, plans);
  if (query.fields.empty()) JudgeAllFields(query, could_answer, plans);
}

}  // namespace tallyd
