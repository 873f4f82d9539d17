#include "config/lint/finding.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>

namespace tallyd {
namespace {

constexpr auto kError = Severity::kError;
constexpr auto kWarn = Severity::kWarn;
constexpr auto kInfo = Severity::kInfo;

constexpr LintRule kRules[] = {
    {1, "error", kError, "the row key begins with a time, or is nothing else",
     "all writes go to one end of the table, and to one node",
     "put a field of many values before the time"},
    {2, "warn", kWarn, "text that never changes stands before the time, more than one write a day",
     "the writes ascend under one prefix, and go to one node",
     "put a field of many values between them, or, as a last resort, a salt"},
    {3, "warn", kWarn, "the row key begins with a sequential number",
     "the newest numbers are the most active, and lie side by side",
     "write it with {field:reverse_digits}"},
    {4, "warn", kWarn, "no time in the row key of a table that is updated often",
     "one row takes all updates of its entity, and old cells fill it until they expire",
     "put the time behind the entity, or use the pattern latest or aggregate"},
    {5, "warn", kWarn, "a hash in the row key",
     "it destroys the natural order, and nobody can read it",
     "use the readable value; where writes must spread, promote a field, or use {field:salt(n)}"},
    {6, "warn", kWarn, "raw bytes in the row key", "keys are hard to read and to diagnose",
     "use readable text in keys; raw bytes are fine as values"},
    {7, "warn", kWarn, "a declared query that no table of the stream serves: a full scan",
     "only the leading fields of a key bound a range",
     "add a table whose row key begins with the fields that the query gives"},
    {8, "warn", kWarn, "what a declared query reads together does not share a prefix",
     "the rows are not side by side: a range for each salt or field, instead of one",
     "put the fields that the query gives before {field} and without a salt"},
    {9, "warn", kWarn, "the row key begins with a domain name that is not reversed",
     "names of one domain do not stand together", "write it with {field:reverse_domain}"},
    {10, "warn", kWarn, "the row key begins with a domain name of which there are fewer than 10",
     "all writes go to few prefixes", "begin with a field of more values"},
    {11, "warn", kWarn, "a personal field in the row key",
     "keys show up in logs, metrics and plans", "put an identifier of no meaning there instead"},
    {12, "error", kError, "a row key of more than 4 KiB",
     "no row may have one, and long keys cost memory and time", "shorten its text and its padding"},
    {13, "warn, error where a declared query ranges over it", kWarn,
     "a number or a time of varying width in the row key",
     "the order of text is not the order of numbers: 20 stands before 3",
     "use a fixed width: {field:zero(n)}, {ts:ms} or another format of times"},
    {14, "error", kError,
     "a row key that cannot be read back: a part of varying width without an end",
     "where its parts begin is unknown, and one entity's prefix holds another's rows",
     "put text between the parts, or pad them"},
    {15, "warn", kWarn, "a field of more values stands before one of fewer",
     "a group cannot be read as one range", "order the fields from common to granular"},
    {16, "warn", kWarn, "a reversed time, although newest first is not the top query",
     "it complicates every other query", "use {ts:ms} and read with order=desc"},
    {17, "warn", kWarn, "a salt, although a field could be promoted",
     "promotion spreads writes as well, and makes queries faster instead of slower",
     "put the field into the row key in place of the salt"},
    {18, "warn, info where `every` is not declared", kWarn,
     "a series kept as versions of one column",
     "rows are simpler to store, to understand and to query",
     "put the time into the row key, so that each event has its own row"},
    {19, "error", kError, "a new-cell table whose family has neither max_age nor max_versions",
     "this pattern needs rules for what goes", "set max_age or max_versions"},
    {20, "warn", kWarn, "a new-column table named by readings whose family keeps one version",
     "equal readings of one bucket overwrite each other", "raise max_versions, or leave it out"},
    {21, "error", kError, "nothing bounds the events of a row", "a row has no ceiling",
     "put a time into the row key, or set max_age"},
    {22, "warn above 100 MiB, error above 256 MiB", kWarn, "an estimated row of more than 100 MiB",
     "reading it is slow, and beyond 256 MiB it is refused",
     "use a smaller bucket, serialize, or split the fields over tables"},
    {23, "warn above 10 MiB, error above 100 MiB", kWarn,
     "a stored value of more than 10 MiB (by data only)",
     "each read carries all of it, and beyond 100 MiB it is refused",
     "split it, or keep it elsewhere and store where"},
    {24, "warn", kWarn, "more than 100 families in a table", "each costs on every read and write",
     "merge families that are read together and kept as long"},
    {25, "warn", kWarn, "fields that are of use for different times in one family",
     "what expires is decided by family: the longest is paid for all",
     "give each retention its own family"},
    {26, "warn from 33 bytes, error above 16 KiB", kWarn, "a long name of a family or a column",
     "a name travels with every cell; in tallyd's own store it is learned once, and is free",
     "shorten it, with `rename` or `names = \"compact\"`"},
    {27, "warn", kWarn, "a table for each tenant or period, or nightly tables without keep",
     "a table costs connections and memory, load is uneven, and 1,000 are the limit",
     "use one table, with the tenant or the period in the row key; give nightly tables keep"},
    {28, "error", kError, "more than 1,000 tables, nightly ones counted for each day they are kept",
     "creating more is refused", "merge tables of one shape; lower keep"},
    {29, "warn", kWarn, "one stream feeds two aggregate tables under different keys",
     "the two rows that an event changes can disagree: only one row is atomic",
     "derive one from the other where they must agree"},
    {30, "info", kInfo, "the top query reads several families", "one family is read faster",
     "put what is read together into one family"},
    {31, "info", kInfo, "64 named fields or more that one declared query reads, a cell each",
     "1,024 cells of 1 byte lose to 1 cell of 1,024 bytes",
     "use the pattern single-timestamp-serialized, or `serialize`"},
    {32, "error", kError, "plain cells into an aggregate family, or aggregates into a plain one",
     "a family is one or the other", "give each kind its own family"},
    {33, "error", kError, "an aggregate input that cannot have its family's type",
     "every such write is refused", "let the value be one placeholder, as \"{value}\""},
    {34, "warn", kWarn, "a counter (`*_total`) written 100 times a minute or more as plain cells",
     "each increment is stored for itself", "use an aggregate family of sum, or `flush`"},
    {35, "warn", kWarn, "an event changes the row of an earlier one in place",
     "the change is lost to whoever asks for history",
     "store changes as new rows: put the time into the row key"},
};

constexpr LintRule kSchemaRules[] = {
    {6, "warn", kWarn,
     "a row key that does not tell events apart which a declared query, or the "
     "key of another table, does",
     "two events of one time that differ in such a field alone fall on one cell: the later one "
     "stays",
     "put the field into the row key, or read these events from a table whose key has it"},
    {7, "warn", kWarn,
     "column rules that may make one name of two events, or a text that can be taken apart in two "
     "ways",
     "an event comes back as another, or takes its cell; tables of events say so once it happened",
     "give each such rule a literal of its own in front, or a family of its own; let the text "
     "between the parts occur in no value"},
    {8, "info", kInfo, "a table that a protocol's stream has by default, and that has no age",
     "it keeps all that it ever took, for ever",
     "spell the tables out in the file, with max_age, and say tables = false in the section"},
    {35, "warn", kWarn,
     "a row key that does not give back the field of a token's scope, which the key of another "
     "table of the stream does; or `max_bytes` on a table whose key does",
     "tokens with that scope do not see the table, and yet write to it: tenants write on each "
     "other's cells; or one tenant's load removes the rows of another",
     "put the field into the row key; give each tenant a table, or `max_age` for `max_bytes`"},
};

constexpr LintRule kTime = {
    kTimeRule,
    "warn, error where nobody declares the time",
    kWarn,
    "the only time in the row key is of another field than the table's time",
    "the cells of a row have another time than its key says, and a query's from and to go by "
    "theirs",
    "say which field holds the time, with `time`"};

constexpr bool EachIsAtItsPlace() {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (kRules[i].number != static_cast<int>(i) + 1) return false;
  }
  return std::size(kRules) == 35;
}
static_assert(EachIsAtItsPlace());

}  // namespace

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarn:
      return "warn";
    case Severity::kInfo:
      return "info";
  }
  return "info";
}

std::span<const LintRule> LintRules() { return kRules; }
std::span<const LintRule> SchemaRules() { return kSchemaRules; }
const LintRule& TimeRule() { return kTime; }

RulePlace PlaceOfRule(std::string_view name) {
  constexpr std::string_view kNumbered = "LS";
  const size_t kind = name.empty() ? std::string_view::npos : kNumbered.find(name[0]);
  int number = 0;
  const char* const end = name.data() + name.size();
  if (kind != std::string_view::npos && std::from_chars(name.data() + 1, end, number).ptr == end) {
    return {static_cast<int>(kind), number, std::string(name)};
  }
  return {static_cast<int>(kNumbered.size()), 0, std::string(name)};
}

LintFinding FindingOf(int number, std::string table, std::string detail) {
  if (number == kTimeRule) {
    return {"time", kTime.usual, std::move(table), std::move(detail), std::string(kTime.cure)};
  }
  assert(number >= 1 && number <= static_cast<int>(std::size(kRules)));
  const LintRule& rule = kRules[static_cast<size_t>(number) - 1];
  return {"L" + std::to_string(number), rule.usual, std::move(table), std::move(detail),
          std::string(rule.cure)};
}

LintFinding SchemaFindingOf(int number, std::string table, std::string detail) {
  const auto rule = std::ranges::find(kSchemaRules, number, &LintRule::number);
  assert(rule != std::end(kSchemaRules));
  return {"S" + std::to_string(number), rule->usual, std::move(table), std::move(detail),
          std::string(rule->cure)};
}

bool AnyError(std::span<const LintFinding> findings) {
  return std::ranges::any_of(
      findings, [](const LintFinding& finding) { return finding.severity == Severity::kError; });
}

}  // namespace tallyd
