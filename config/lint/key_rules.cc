// What each part of a row key is: readable, of fixed width, in a sensible order.
#include <algorithm>
#include <array>

#include "config/lint/rule_groups.h"
#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

constexpr size_t kMaxKeyBytes = 4096;
// Fewer values than that spread no writes.
constexpr uint64_t kPromotable = 10;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// The words of a name: "user_SHA-256" has user, sha, 256.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : Lower(name)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter) {
      words.back().push_back(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool HasWord(std::string_view name, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(WordsOf(name), [&](const std::string& word) {
    return std::ranges::find(wanted, word) != wanted.end();
  });
}

bool IsNamedAsHash(std::string_view field) {
  const std::string name = Lower(field);
  for (const std::string_view part : {"hash", "md5", "sha1", "sha2", "sha3", "sha5", "checksum"}) {
    const size_t at = name.find(part);
    if (at != std::string::npos && name.compare(at, 7, "hashtag") != 0) return true;
  }
  return HasWord(field, {"sha", "digest", "fingerprint", "crc", "crc32", "crc64", "xxh32", "xxh64",
                         "xxh3", "murmur", "fnv"});
}

bool IsNamedAsBytes(std::string_view field) {
  return HasWord(field, {"raw", "bytes", "binary", "bin", "blob"});
}

bool IsReadable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

void FindUnreadable(const LintSubject& subject, LintFindings* found) {
  const std::string& table = subject.table.name;
  for (const Segment& segment : subject.table.row_key.segments()) {
    if (segment.is_literal() && !IsReadable(segment.literal)) {
      found->Add(6, table, "the text of row_key holds control bytes");
    }
    if (segment.is_literal() || segment.is_salt() || TellsTime(segment)) continue;
    const LiveField* live = LiveOf(subject, segment.field);
    if (IsNamedAsHash(segment.field)) {
      found->Add(5, table, "row_key holds " + Quoted(segment.field) + ", by its name a hash");
    } else if (live != nullptr && live->looks_like_hash) {
      found->Add(5, table, "row_key holds " + Quoted(segment.field) + ", whose values look hashed");
    }
    if ((live != nullptr && live->is_bytes) || IsNamedAsBytes(segment.field)) {
      found->Add(6, table, "row_key holds " + Quoted(segment.field) + ", which is bytes");
    }
  }
}

void FindPersonal(const LintSubject& subject, LintFindings* found) {
  std::set<std::string> told;
  for (const Segment* segment : Placeholders(subject.table)) {
    const FieldHints* hints = HintsOf(subject, segment->field);
    if (segment->is_salt() || hints == nullptr || !hints->personal) continue;
    if (!told.insert(segment->field).second) continue;
    found->Add(11, subject.table.name,
               "row_key holds " + Quoted(segment->field) + ", which is declared personal");
  }
  for (const auto& [field, hints] : subject.stream.fields) {
    const bool is_label = KeyMayHoldAsLabel(subject.schema, subject.stream, subject.table, field);
    if (!is_label || !hints.personal || !told.insert(field).second) continue;
    found->Add(11, subject.table.name,
               "row_key holds the label " + Quoted(field) + ", which is declared personal");
  }
}

// What the key has at least, if nothing in it is empty.
void FindLongKey(const LintSubject& subject, LintFindings* found) {
  size_t bytes = 0;
  for (const Segment& segment : subject.table.row_key.segments()) {
    bytes += segment.is_literal() ? segment.literal.size()
                                  : std::max<size_t>(FixedWidth(segment.spec), 1);
  }
  if (bytes <= kMaxKeyBytes) return;
  found->Add(12, subject.table.name,
             "each row key has " + std::to_string(bytes) + " bytes at least; 4096 are the limit");
}

bool IsRanged(const LintSubject& subject) {
  return std::ranges::any_of(subject.stream.queries, &QueryHint::time);
}

void FindVaryingWidth(const LintSubject& subject, LintFindings* found) {
  for (const Segment* segment : Placeholders(subject.table)) {
    if (FixedWidth(segment->spec) != 0 || segment->is_salt()) continue;
    const std::string what = "row_key has " + Quoted(segment->field) + " without a fixed width";
    if (TellsTime(*segment)) {
      const Severity severity = IsRanged(subject) ? Severity::kError : Severity::kWarn;
      found->Add(13, severity, subject.table.name, what + ", which is a time");
      continue;
    }
    const LiveField* live = LiveOf(subject, segment->field);
    const bool is_number = IsSequential(subject, segment->field) ||
                           (live != nullptr && live->is_integer && !live->is_text);
    if (is_number && segment->spec.info().is_as_is) {
      found->Add(13, subject.table.name, what + ", which is a number");
    }
  }
}

void FindGranularFirst(const LintSubject& subject, LintFindings* found) {
  const Segment* before = nullptr;
  for (const Segment* segment : Placeholders(subject.table)) {
    if (!GivesBackInKey(*segment) || segment->field == kFieldPlaceholder) continue;
    const auto distinct = DistinctOf(subject, segment->field);
    if (!distinct) continue;
    const auto earlier = before == nullptr ? std::nullopt : DistinctOf(subject, before->field);
    if (earlier && *earlier > *distinct) {
      found->Add(15, subject.table.name,
                 "row_key has " + Quoted(before->field) + ", of " + std::to_string(*earlier) +
                     " values, before " + Quoted(segment->field) + ", of " +
                     std::to_string(*distinct));
    }
    before = segment;
  }
}

void FindReversed(const LintSubject& subject, LintFindings* found) {
  const bool reversed = std::ranges::any_of(
      Placeholders(subject.table), [](const Segment* s) { return s->spec.info().descends; });
  if (!reversed) return;
  double top = 0;
  bool newest_is_top = false;
  for (const QueryHint& query : subject.stream.queries) {
    if (query.weight > top) newest_is_top = false;
    top = std::max(top, query.weight);
    newest_is_top = newest_is_top || (query.newest_first && query.weight >= top);
  }
  if (newest_is_top) return;
  found->Add(16, subject.table.name,
             subject.stream.queries.empty()
                 ? "row_key has a reversed time, and no query is declared that reads newest first"
                 : "row_key has a reversed time, and the top query does not read newest first");
}

// A field that would spread the writes as the salt does: of many values, neither personal nor
// sequential.
bool IsPromotable(const LintSubject& subject, const std::string& field) {
  if (field == subject.table.time_field || field == kFieldPlaceholder) return false;
  const FieldHints* hints = HintsOf(subject, field);
  if (hints != nullptr && hints->personal) return false;
  return !IsSequential(subject, field) &&
         DistinctOf(subject, field).value_or(kPromotable) >= kPromotable;
}

std::vector<std::string> CandidatesOf(const LintSubject& subject) {
  std::vector<std::string> fields = subject.table.row_key.entity_fields();
  for (const auto& [field, hints] : subject.stream.fields) fields.push_back(field);
  for (const QueryHint& query : subject.stream.queries) {
    fields.insert(fields.end(), query.fields.begin(), query.fields.end());
  }
  if (subject.live == nullptr) return fields;
  const auto live = subject.live->fields.find(subject.stream.name);
  if (live == subject.live->fields.end()) return fields;
  for (const auto& [field, facts] : live->second) {
    if (facts.is_text && !facts.is_integer) fields.push_back(field);
  }
  return fields;
}

void FindSalt(const LintSubject& subject, LintFindings* found) {
  const auto placeholders = Placeholders(subject.table);
  if (std::ranges::none_of(placeholders, [](const Segment* s) { return s->is_salt(); })) return;
  const std::vector<std::string> fields = CandidatesOf(subject);
  const auto best = std::ranges::find_if(
      fields, [&](const std::string& field) { return IsPromotable(subject, field); });
  if (best == fields.end()) return;
  found->Add(17, subject.table.name,
             "row_key has a salt, although " + Quoted(*best) + " could spread the writes");
}

void FindOtherTime(const LintSubject& subject, LintFindings* found) {
  const std::string* const other = OtherTimeOfKey(subject.table);
  if (other == nullptr) return;
  found->Add(kTimeRule, subject.table.name,
             "row_key has a time of " + Quoted(*other) + ", while the table's time is " +
                 Quoted(subject.table.time_field));
}

}  // namespace

void LintKeySegments(const LintSubject& subject, LintFindings* found) {
  FindUnreadable(subject, found);
  FindPersonal(subject, found);
  FindLongKey(subject, found);
  FindVaryingWidth(subject, found);
  FindGranularFirst(subject, found);
  FindReversed(subject, found);
  FindSalt(subject, found);
  FindOtherTime(subject, found);
}

}  // namespace tallyd
