#include "ingest/rule_inverse.h"

#include <algorithm>
#include <optional>

#include "config/glob.h"
#include "ingest/measured.h"
#include "ingest/row_reader.h"

namespace tallyd {
namespace {

// So many single columns are asked for by name; for more a pattern is cheaper.
constexpr size_t kMaxPatterns = 256;

// Whether a template's text gives the placeholder's value back.
bool GivesBack(const Segment& segment) {
  const SpecKind kind = segment.spec.kind;
  return !segment.is_literal() && !segment.is_salt() && !segment.spec.is_time() &&
         kind != SpecKind::kReverseDomain && kind != SpecKind::kReverseDigits;
}

bool GivesBack(const ValueTemplate& text, std::string_view field) {
  return std::ranges::any_of(text.segments(), [field](const Segment& segment) {
    return segment.field == field && GivesBack(segment);
  });
}

bool TellsEither(const ColumnRule& rule, std::string_view placeholder) {
  return GivesBack(rule.name, placeholder) || GivesBack(rule.value, placeholder);
}

// The only field that a per-field rule takes, if that is certain.
const std::string* OnlyField(const ColumnRule& rule) {
  return rule.fields.size() == 1 && !IsGlob(rule.fields[0]) ? &rule.fields[0] : nullptr;
}

// Whether the rule's columns give this field of an event back.
bool RuleHolds(const Table& table, const ColumnRule& rule, std::string_view field) {
  if (rule.serialize != Serialization::kNone) return RuleTakes(table, rule, field);
  if (!rule.per_field) return TellsEither(rule, field);
  if (field != kFieldPlaceholder && field != kValuePlaceholder && TellsEither(rule, field)) {
    return true;
  }
  const bool tells_name = RenamedTo(rule, field) != nullptr ||
                          TellsEither(rule, kFieldPlaceholder) ||
                          table.row_key.names_measured_field() || OnlyField(rule) != nullptr;
  return RuleTakes(table, rule, field) && tells_name && TellsEither(rule, kValuePlaceholder);
}

// The qualifiers that a template can make, {field} being matched by `field`.
std::string PatternOf(const ValueTemplate& name, bool per_field, std::string_view field) {
  std::string pattern;
  for (const Segment& segment : name.segments()) {
    if (segment.is_literal()) {
      pattern += segment.literal;
    } else if (per_field && segment.field == kFieldPlaceholder &&
               segment.spec.kind == SpecKind::kText) {
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
      if (NamesWanted(rule)) Add(rule, PatternOf(rule.name, false, {}));
      return;
    }
    const size_t before = patterns_.size();
    const bool named_as_sent = rule.rename.empty() && !rule.compact_names;
    for (const std::string& field : stream_fields) {
      if (!Wants(field) || !RuleHolds(table_, rule, field)) continue;
      if (named_as_sent) {
        for (const std::string& glob : globs_) Add(rule, PatternOf(rule.name, true, glob));
        break;
      }
      const std::string* renamed = RenamedTo(rule, field);
      Add(rule,
          renamed != nullptr ? *renamed : PatternOf(rule.name, true, NameInRule(rule, field)));
      if (patterns_.size() - before > kMaxPatterns) {
        patterns_.resize(before);
        return Add(rule, PatternOf(rule.name, true, "*"));
      }
    }
    if (NamesWanted(rule)) Add(rule, PatternOf(rule.name, true, "*"));
  }

  std::vector<ColumnPattern> Take() { return std::move(patterns_); }

 private:
  // Whether a template of the rule names a field of the event that is wanted.
  bool NamesWanted(const ColumnRule& rule) const {
    auto wanted = [&](const Segment& segment) {
      const bool special = rule.per_field && (segment.field == kFieldPlaceholder ||
                                              segment.field == kValuePlaceholder);
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

ColumnMeaning RuleInverse::Read(const ColumnRef& column) const {
  const std::string& family = stored_.families[column.family].name;
  for (const bool constant_names : {true, false}) {
    for (const ColumnRule& rule : table_.columns) {
      ColumnMeaning meaning;
      if (rule.family != family || rule.name.is_constant() != constant_names) continue;
      if (Try(rule, column.qualifier, &meaning)) {
        meaning.rule = &rule;
        return meaning;
      }
    }
  }
  return {};
}

bool RuleInverse::Try(const ColumnRule& rule, std::string_view qualifier,
                      ColumnMeaning* meaning) const {
  if (rule.serialize != Serialization::kNone) return rule.name.text() == qualifier;
  for (const auto& [field, renamed] : rule.rename) {
    if (renamed != qualifier) continue;
    meaning->measured = ColumnMeaning::Measured::kFixed;
    meaning->field = field;
    return true;
  }
  std::vector<KeyField> parts;
  if (!rule.name.Match(qualifier, &parts)) return false;
  for (const KeyField& part : parts) {
    const Segment& segment = rule.name.segments()[part.segment];
    const bool special = rule.per_field &&
                         (segment.field == kFieldPlaceholder || segment.field == kValuePlaceholder);
    if (!special && !part.value.is_null() && GivesBack(segment)) {
      meaning->named.emplace_back(segment.field, part.value);
    }
  }
  return !rule.per_field || TryPerField(rule, parts, meaning);
}

bool RuleInverse::TryPerField(const ColumnRule& rule, const std::vector<KeyField>& parts,
                              ColumnMeaning* meaning) const {
  using Measured = ColumnMeaning::Measured;
  if (table_.row_key.names_measured_field()) {
    meaning->measured = Measured::kFromKey;
  } else if (const std::string* only = OnlyField(rule)) {
    meaning->measured = Measured::kFixed;
    meaning->field = *only;
  } else if (GivesBack(rule.value, kFieldPlaceholder)) {
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

// The field that the rule takes and whose compact name this is. Where several fit, the first that
// the rule names, then the first by name.
std::string RuleInverse::UndoCompact(const ColumnRule& rule, std::string_view text) const {
  if (!rule.compact_names) return std::string(text);
  auto find = [&](const std::vector<std::string>& names, bool of_stream) -> const std::string* {
    for (const std::string& name : names) {
      const bool known = of_stream || std::ranges::count(stream_fields_, name) > 0;
      if (known && CompactName(name) == text && RuleTakes(table_, rule, name)) return &name;
    }
    return nullptr;
  };
  const std::string* name = find(rule.fields, false);
  if (name == nullptr) name = find(stream_fields_, true);
  return name == nullptr ? std::string(text) : *name;
}

std::vector<ColumnPattern> PatternsOf(const Table& table,
                                      const std::vector<std::string>& stream_fields,
                                      const std::vector<std::string>& globs) {
  PatternCollector collector(table, globs);
  for (const ColumnRule& rule : table.columns) collector.AddRule(rule, stream_fields);
  return collector.Take();
}

bool TableHolds(const Table& table, std::string_view field) {
  return KeyHolds(table, field) || std::ranges::any_of(table.columns, [&](const ColumnRule& rule) {
           return RuleHolds(table, rule, field);
         });
}

}  // namespace tallyd
