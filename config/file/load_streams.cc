// [ingest], [streams.X]: how a stream's events tell their time, which times are taken, and hints
// for the schema tools.
#include <algorithm>
#include <limits>

#include "config/file/load.h"

namespace tallyd {
namespace {

constexpr Bounds<int64_t> kAnyDuration = {1, std::numeric_limits<int64_t>::max()};
// A century ahead of now is a time that can be added up.
constexpr Bounds<int64_t> kFuture = {kUsPerMs, 36'500 * kUsPerDay};

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

Stream ReadStream(TomlReader reader, const IngestGuards& guards) {
  Stream stream;
  stream.guards = guards;
  stream.name = reader.name();
  const std::string wrong = NameMistake(stream.name, "stream", kMaxStreamNameBytes);
  if (!wrong.empty()) reader.Mistake(wrong);
  stream.declares_time = reader.String("time", &stream.time_field);
  if (stream.declares_time && stream.time_field.empty()) {
    reader.Mistake("time", "is empty; accepted: the name of the event field that holds its time");
  }
  reader.Choice<TimeUnit>("unit",
                          {{"s", TimeUnit::kSeconds},
                           {"ms", TimeUnit::kMilliseconds},
                           {"us", TimeUnit::kMicroseconds},
                           {"ns", TimeUnit::kNanoseconds}},
                          &stream.unit);
  reader.Bool("time_required", &stream.time_required);
  ReadGuards(&reader, &stream.guards);
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

void ReadGuards(TomlReader* reader, IngestGuards* guards) {
  reader->Moment("min_time", &guards->min_time);
  reader->DurationOrOff("max_future", kFuture, &guards->max_future_us);
}

void ReadIngest(TomlReader ingest, IngestGuards* guards) {
  ReadGuards(&ingest, guards);
  ingest.Finish();
}

std::vector<Placed<Stream>> ReadStreams(TomlReader streams, const IngestGuards& guards) {
  std::vector<Placed<Stream>> all;
  for (TomlReader& stream : streams.Members()) {
    all.push_back({ReadStream(stream, guards), stream.line()});
  }
  return all;
}

}  // namespace tallyd
