#include "ingest/unmap/rule_inverse.h"

#include <algorithm>
#include <optional>

#include "config/columns/name_doubts.h"
#include "config/schema/table_rules.h"
#include "config/values/glob.h"
#include "ingest/unmap/row_reader.h"

namespace tallyd {
namespace {

// So many single columns are asked for by name; for more a pattern is cheaper.
constexpr size_t kMaxPatterns = 256;

// The qualifiers that the rule's name can make, {field} being matched by `field`.
std::string PatternOf(const ColumnRule& rule, std::string_view field) {
  std::string pattern;
  for (const Segment& segment : rule.name.segments()) {
    if (segment.is_literal()) {
      pattern += segment.literal;
    } else if (IsMeasuredField(rule, segment) && segment.spec.info().is_as_is) {
      pattern += field;
    } else if (!pattern.ends_with('*')) {
      pattern += '*';
    }
  }
  return pattern;
}

class PatternCollector {
 public:
  PatternCollector(const Table& table, const std::vector<std::string>& globs)
      : table_(table), globs_(globs) {}

  bool Wants(std::string_view field) const {
    return std::ranges::any_of(
        globs_, [field](const std::string& glob) { return GlobMatches(glob, field); });
  }

  void AddRule(const ColumnRule& rule, const std::vector<std::string>& stream_fields) {
    if (rule.serialize != Serialization::kNone) return Add(rule, rule.name.text());
    if (!rule.per_field) {
      if (NamesWanted(rule)) Add(rule, PatternOf(rule, {}));
      return;
    }
    const size_t before = patterns_.size();
    const bool named_as_sent = rule.rename.empty() && !rule.compact_names;
    for (const std::string& field : stream_fields) {
      if (!Wants(field) || GivenBack(table_, rule, field) == Fidelity::kNone) continue;
      if (named_as_sent) {
        for (const std::string& glob : globs_) Add(rule, PatternOf(rule, glob));
        break;
      }
      const std::string* renamed = RenamedTo(rule, field);
      Add(rule, renamed != nullptr ? *renamed : PatternOf(rule, NameInRule(rule, field)));
      if (patterns_.size() - before > kMaxPatterns) {
        patterns_.resize(before);
        return Add(rule, PatternOf(rule, "*"));
      }
    }
    if (NamesWanted(rule)) Add(rule, PatternOf(rule, "*"));
  }

  std::vector<ColumnPattern> Take() { return std::move(patterns_); }

 private:
  // Whether a template of the rule names a field of the event that is wanted.
  bool NamesWanted(const ColumnRule& rule) const {
    auto wanted = [&](const Segment& segment) {
      const bool special = IsMeasuredField(rule, segment) || IsMeasuredValue(rule, segment);
      return !segment.is_literal() && !special && Wants(segment.field);
    };
    return std::ranges::any_of(rule.name.segments(), wanted) ||
           std::ranges::any_of(rule.value.segments(), wanted);
  }

  void Add(const ColumnRule& rule, std::string qualifier) {
    for (const ColumnPattern& known : patterns_) {
      if (known.family == rule.family && known.qualifier == qualifier) return;
    }
    patterns_.push_back({rule.family, std::move(qualifier)});
  }

  const Table& table_;
  const std::vector<std::string>& globs_;
  std::vector<ColumnPattern> patterns_;
};

}  // namespace

// A name that the file tells is not taken for one that an event's value makes. Nor is a column
// taken for a field's own that its rule calls otherwise by now, unless nothing else has it: then it
// was written before.
ColumnMeaning RuleInverse::Read(const ColumnRef& column) const {
  const std::string& family = stored_.families[column.family].name;
  for (const bool as_renamed : {true, false}) {
    for (const bool told_names : {true, false}) {
      for (const ColumnRule& rule : table_.columns) {
        ColumnMeaning meaning;
        if (rule.family != family || NamesAreInFile(rule) != told_names) continue;
        if (!Try(rule, column.qualifier, &meaning)) continue;
        if (as_renamed && IsRenamedAway(rule, column.qualifier)) continue;
        meaning.rule = &rule;
        return meaning;
      }
    }
  }
  return {};
}

// Whether the column has the name of a field that the rule keeps under another one, and is not what
// it renames a field to.
bool RuleInverse::IsRenamedAway(const ColumnRule& rule, std::string_view qualifier) const {
  return rule.per_field && RenamedTo(rule, qualifier) != nullptr &&
         std::ranges::none_of(rule.rename,
                              [&](const auto& rename) { return rename.second == qualifier; });
}

bool RuleInverse::Try(const ColumnRule& rule, std::string_view qualifier,
                      ColumnMeaning* meaning) const {
  if (rule.serialize != Serialization::kNone) return rule.name.text() == qualifier;
  for (const auto& [field, renamed] : rule.rename) {
    if (renamed != qualifier) continue;
    const bool key_tells = KeyTellsMeasured(table_);
    meaning->measured =
        key_tells ? ColumnMeaning::Measured::kFromKey : ColumnMeaning::Measured::kFixed;
    meaning->field = field;
    return true;
  }
  std::vector<KeyField> parts;
  if (!rule.name.Match(qualifier, &parts)) return false;
  for (const KeyField& part : parts) {
    const Segment& segment = rule.name.segments()[part.segment];
    const bool special = IsMeasuredField(rule, segment) || IsMeasuredValue(rule, segment);
    if (!special && !part.value.is_null() && GivesBackInColumn(segment)) {
      meaning->named.emplace_back(segment.field, part.value);
    }
  }
  return !rule.per_field || TryPerField(rule, parts, meaning);
}

bool RuleInverse::TryPerField(const ColumnRule& rule, const std::vector<KeyField>& parts,
                              ColumnMeaning* meaning) const {
  using Measured = ColumnMeaning::Measured;
  if (KeyTellsMeasured(table_)) {
    meaning->measured = Measured::kFromKey;
  } else if (const std::string* only = OnlyField(rule)) {
    meaning->measured = Measured::kFixed;
    meaning->field = *only;
  } else if (std::ranges::any_of(rule.value.segments(), [&](const Segment& segment) {
               return IsMeasuredField(rule, segment) && GivesBackInColumn(segment);
             })) {
    meaning->measured = Measured::kFromValue;
  }
  for (const KeyField& part : parts) {
    const Segment& segment = rule.name.segments()[part.segment];
    if (part.value.is_null()) continue;
    if (segment.field == kValuePlaceholder) {
      meaning->value_in_name = true;
      meaning->name_value = part.value;
    } else if (segment.field == kFieldPlaceholder) {
      meaning->measured = Measured::kFixed;
      meaning->field = UndoCompact(rule, ToText(part.value));
      if (!RuleTakes(table_, rule, meaning->field)) return false;
    }
  }
  return true;
}

// The spelling that the stream saw last of the fields that the rule keeps under this compact name.
std::string RuleInverse::UndoCompact(const ColumnRule& rule, std::string_view text) const {
  if (!rule.compact_names) return std::string(text);
  return LastSpelling(table_, rule, text, stream_fields_).value_or(std::string(text));
}

std::vector<ColumnPattern> PatternsOf(const Table& table,
                                      const std::vector<std::string>& stream_fields,
                                      const std::vector<std::string>& globs) {
  PatternCollector collector(table, globs);
  for (const ColumnRule& rule : table.columns) collector.AddRule(rule, stream_fields);
  return collector.Take();
}

}  // namespace tallyd
