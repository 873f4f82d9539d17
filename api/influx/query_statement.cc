#include "api/influx/query_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <string>

#include "ingest/decode/event_batch.h"

namespace tallyd {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view TakeWord(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(kSpaces), text->size()));
  const std::string_view word = text->substr(0, text->find_first_of(kSpaces));
  text->remove_prefix(word.size());
  return word;
}

// To the next semicolon that stands in no quotes.
std::string_view TakeStatement(std::string_view* text) {
  size_t at = 0;
  bool is_quoted = false;
  for (; at < text->size() && (is_quoted || (*text)[at] != ';'); ++at) {
    if ((*text)[at] == '\\' && is_quoted) {
      ++at;
    } else if ((*text)[at] == '"') {
      is_quoted = !is_quoted;
    }
  }
  const std::string_view statement = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return statement;
}

}  // namespace

Result<std::vector<InfluxStatement>> ParseInfluxStatements(std::string_view text) {
  using boost::beast::iequals;
  std::vector<InfluxStatement> statements;
  while (!text.empty()) {
    std::string_view statement = TakeStatement(&text);
    std::string_view rest = statement;
    const std::string_view verb = TakeWord(&rest);
    if (verb.empty()) continue;
    const std::string_view object = TakeWord(&rest);
    const std::string_view name = TakeWord(&rest);
    if (iequals(verb, "CREATE") && iequals(object, "DATABASE") && !name.empty()) {
      statements.push_back(InfluxStatement::kCreateDatabase);
    } else if (iequals(verb, "SHOW") && iequals(object, "DATABASES") && name.empty()) {
      statements.push_back(InfluxStatement::kShowDatabases);
    } else {
      return Invalid(fmt::format(
          "'{}' is neither CREATE DATABASE with a name nor SHOW DATABASES; what was written is "
          "read at /v1/streams/STREAM/events",
          Shown(statement)));
    }
  }
  if (statements.empty()) return Invalid("there is no statement");
  return statements;
}

}  // namespace tallyd
