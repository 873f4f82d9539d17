// [ingest], [streams.X]: how a stream's events tell their time, which times are taken, and hints
// for the schema tools.
#include <algorithm>

#include "config/file/load.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

FieldHints ReadFieldHints(TomlReader field) {
  FieldHints hints;
  ReadKeys(&field, &hints);
  field.Finish();
  return hints;
}

QueryHint ReadQueryHint(TomlReader query) {
  QueryHint hint;
  ReadKeys(&query, &hint);
  query.Finish();
  return hint;
}

Stream ReadStream(TomlReader reader, const IngestGuards& guards) {
  Stream stream;
  stream.guards = guards;
  stream.name = reader.name();
  const std::string wrong = NameMistake(stream.name, "stream", kMaxStreamNameBytes);
  if (!wrong.empty()) reader.Mistake(wrong);
  ReadKeys(&reader, &stream);
  ReadKeys(&reader, &stream.guards);
  for (TomlReader& fields : reader.Table("fields")) {
    for (TomlReader& field : fields.Members()) stream.fields[field.name()] = ReadFieldHints(field);
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

void CheckStreamTime(const TomlReader& stream, Stream* filled) {
  filled->declares_time = true;
  if (!filled->time_field.empty()) return;
  stream.Mistake("time", "is empty; accepted: the name of the event field that holds its time");
}

void ReadIngest(TomlReader ingest, IngestGuards* guards) {
  ReadKeys(&ingest, guards);
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
