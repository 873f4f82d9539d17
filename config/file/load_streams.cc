// [streams.X]: how a stream's events tell their time, and hints for the schema tools.
#include <algorithm>
#include <limits>

#include "config/file/load.h"

namespace tallyd {
namespace {

constexpr Bounds<int64_t> kAnyDuration = {1, std::numeric_limits<int64_t>::max()};

void ReadFieldHints(TomlReader field, FieldHints* hints) {
  field.Bool("personal", &hints->personal);
  field.Bool("sequential", &hints->sequential);
  field.Bool("domain", &hints->domain);
  uint64_t distinct = 0;
  if (field.Integer("distinct", Bounds<uint64_t>{1, INT64_MAX}, &distinct)) {
    hints->distinct = distinct;
  }
  int64_t keep = 0;
  if (field.Duration("keep", kAnyDuration, &keep)) hints->keep_us = keep;
  field.Finish();
}

QueryHint ReadQueryHint(TomlReader query) {
  QueryHint hint;
  query.Strings("fields", &hint.fields);
  query.Bool("time", &hint.time);
  query.Bool("newest_first", &hint.newest_first);
  query.PositiveNumber("weight", &hint.weight);
  query.Finish();
  return hint;
}

Stream ReadStream(TomlReader reader) {
  Stream stream;
  stream.name = reader.name();
  const std::string wrong = NameMistake(stream.name, "stream", kMaxStreamNameBytes);
  if (!wrong.empty()) reader.Mistake(wrong);
  if (reader.String("time", &stream.time_field) && stream.time_field.empty()) {
    reader.Mistake("time", "is empty; accepted: the name of the event field that holds its time");
  }
  reader.Choice<TimeUnit>("unit",
                          {{"s", TimeUnit::kSeconds},
                           {"ms", TimeUnit::kMilliseconds},
                           {"us", TimeUnit::kMicroseconds},
                           {"ns", TimeUnit::kNanoseconds}},
                          &stream.unit);
  int64_t every = 0;
  if (reader.Duration("every", kAnyDuration, &every)) stream.every_us = every;
  for (TomlReader& fields : reader.Table("fields")) {
    for (TomlReader& field : fields.Members()) ReadFieldHints(field, &stream.fields[field.name()]);
  }
  for (TomlReader& query : reader.TablesOf("queries")) {
    stream.queries.push_back(ReadQueryHint(query));
  }
  reader.Finish();
  return stream;
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string NameMistake(std::string_view name, std::string_view what, size_t longest) {
  const bool fits = !name.empty() && name.size() <= longest && IsNameByte(name[0]) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return IsNameByte(c) || c == '-' || c == '.'; });
  if (fits) return {};
  return "\"" + std::string(name) + "\" is no name for a " + std::string(what) +
         "; accepted: 1 to " + std::to_string(longest) +
         " letters, digits, '_', '-', '.', the first a letter, a digit or '_'";
}

std::vector<Placed<Stream>> ReadStreams(TomlReader streams) {
  std::vector<Placed<Stream>> all;
  for (TomlReader& stream : streams.Members()) all.push_back({ReadStream(stream), stream.line()});
  return all;
}

}  // namespace tallyd
