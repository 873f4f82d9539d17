#include "config/lint/schema_doubts.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/schema/table_rules.h"
#include "config/values/digits.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

// Globs and names with fewer letters say too little to be judged by the names beside them.
constexpr size_t kTellingLetters = 3;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Whether one letter more, less or other makes one name the other, or only the case differs. Digits
// are no letters: "CPU1" and "CPU2" are both meant.
bool IsMisspelling(std::string_view a, std::string_view b) {
  if (a == b) return false;
  if (std::ranges::equal(a, b, {}, Lower, Lower)) return true;
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() - b.size() > 1 || a.size() < 2) return false;
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  const auto at = static_cast<size_t>(in_a - a.begin());
  if (IsDigit(a[at]) || (at < b.size() && IsDigit(b[at]))) return false;
  return a.substr(at + 1) == b.substr(a.size() == b.size() ? at + 1 : at);
}

// How many digits a time of today has at least.
uint32_t DigitsOf(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 10;
    case TimeUnit::kMilliseconds:
      return 13;
    case TimeUnit::kMicroseconds:
      return 16;
    case TimeUnit::kNanoseconds:
      return 19;
  }
  return 0;
}

class TableDoubts {
 public:
  TableDoubts(const Stream& stream, const Table& table, const std::map<std::string, int>& uses,
              std::vector<std::string>* doubts)
      : stream_(stream), table_(table), uses_(uses), doubts_(doubts) {}

  void Find() {
    for (const Segment& segment : table_.row_key.segments()) {
      Judge("row_key", segment, "every event without it is refused");
    }
    for (const std::string& field : table_.when) {
      JudgeName("when", field, "no event without it enters the table");
    }
    for (size_t i = 0; i < table_.columns.size(); ++i) JudgeRule(i);
  }

 private:
  void JudgeRule(size_t index) {
    const ColumnRule& rule = table_.columns[index];
    const std::string key = "columns[" + std::to_string(index) + "]";
    for (const auto* text : {&rule.name, &rule.value}) {
      const std::string place = key + (text == &rule.name ? ".name" : ".value");
      for (const Segment& segment : text->segments()) {
        Judge(place, segment, "the rule finds nothing in an event without it");
      }
    }
    for (const std::string& field : rule.fields) {
      if (IsGlob(field)) {
        JudgeGlob(key + ".fields", field);
      } else {
        JudgeName(key + ".fields", field, "the rule finds nothing in an event without it");
      }
    }
  }

  void Judge(const std::string& key, const Segment& segment, const std::string& otherwise) {
    const Spec& spec = segment.spec;
    if (segment.is_literal()) return;
    const bool is_padded = spec.info().padding != Padding::kNone;
    if (segment.of_time_field && is_padded && spec.n < DigitsOf(stream_.unit)) {
      return Doubt(key, Quoted(segment.field) + " is a time of " +
                            std::to_string(DigitsOf(stream_.unit)) +
                            " digits, wider than its padding, so every event is refused");
    }
    if (segment.is_labels) return;
    const bool measured = segment.field == kFieldPlaceholder || segment.field == kValuePlaceholder;
    if (segment.of_time_field || measured) return;
    if (!spec.is_time()) return JudgeName(key, segment.field, otherwise);
    for (const std::string& time : {table_.time_field, stream_.time_field}) {
      if (IsMeant(segment.field) || !IsMisspelling(segment.field, time)) continue;
      return Doubt(key, "no field " + Quoted(segment.field) + " is named elsewhere, and " +
                            otherwise + "; the time is " + Quoted(time));
    }
  }

  // A name beside one that `[streams.X.fields]` declares.
  void JudgeName(const std::string& key, const std::string& field, const std::string& otherwise) {
    if (IsMeant(field) || field == table_.time_field || field == stream_.time_field) return;
    if (field.size() <= kTellingLetters) return;
    for (const auto& [declared, hints] : stream_.fields) {
      if (!IsMisspelling(field, declared)) continue;
      return Doubt(key, "no field " + Quoted(field) + " is named elsewhere, and " + otherwise +
                            "; streams." + stream_.name + ".fields has " + Quoted(declared));
    }
  }

  // A glob that seems to be made for a field that no glob takes.
  void JudgeGlob(const std::string& key, const std::string& glob) {
    const auto letters = std::ranges::count_if(glob, [](char c) { return c != '*' && c != '?'; });
    if (static_cast<size_t>(letters) < kTellingLetters) return;
    std::vector<std::string> fields = table_.row_key.entity_fields();
    fields.push_back(table_.time_field);
    for (const auto& [name, count] : uses_) {
      const bool untaken = std::ranges::count(fields, name) > 0;
      if (!untaken && GlobMatches(glob, name)) return;
    }
    for (const std::string& field : fields) {
      if (!GlobMatches(glob, field)) continue;
      return Doubt(key, Quoted(glob) + " matches " + Quoted(field) +
                            ", which a glob does not take, and no other field that is named; " +
                            "to have it in a column, name it");
    }
  }

  // Whether the field is declared, or something else names it too.
  bool IsMeant(const std::string& field) const {
    const auto used = uses_.find(field);
    return stream_.fields.contains(field) || (used != uses_.end() && used->second > 1);
  }

  static std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

  void Doubt(const std::string& key, const std::string& text) {
    doubts_->push_back("tables." + table_.name + "." + key + ": " + text);
  }

  const Stream& stream_;
  const Table& table_;
  const std::map<std::string, int>& uses_;
  std::vector<std::string>* const doubts_;
};

// How often the stream's configuration names each field; tables that do the same count once, since
// a mistake is copied with them.
std::map<std::string, int> CountUses(const Schema& schema, const Stream& stream) {
  std::map<std::string, int> uses;
  for (const auto& [field, hints] : stream.fields) ++uses[field];
  std::set<std::string> ways;
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    const auto use = [&](const std::string& field, const std::string& way) {
      if (ways.insert(field + '\0' + way).second) ++uses[field];
    };
    use(table.time_field, "time");
    for (const std::string& field : table.when) use(field, "when");
    const auto use_all = [&](const std::vector<Segment>& segments, const std::string& way) {
      for (const Segment& s : segments) {
        if (!s.is_literal()) use(s.field, s.spec.is_time() ? "period" : way);
      }
    };
    use_all(table.row_key.segments(), "key");
    for (const ColumnRule& rule : table.columns) {
      use_all(rule.name.segments(), "name");
      use_all(rule.value.segments(), "value");
      for (const std::string& field : rule.fields) {
        if (!IsGlob(field)) use(field, "fields");
      }
    }
  }
  return uses;
}

}  // namespace

std::vector<std::string> FindDoubts(const Schema& schema) {
  std::vector<std::string> doubts;
  for (const Stream& stream : schema.streams) {
    const std::map<std::string, int> uses = CountUses(schema, stream);
    for (const size_t table : stream.tables) {
      TableDoubts(stream, schema.tables[table], uses, &doubts).Find();
    }
  }
  return doubts;
}

}  // namespace tallyd
