// daily = { name, at, keep } of a table: its nightly tables.
#include "config/file/load.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

constexpr TimeUs kSomeDay = 0;

// Whether there is a name.
bool ReadName(TomlReader* reader, Daily* daily) {
  std::string text;
  if (!reader->Has("name")) {
    reader->Mistake("name",
                    "is needed; accepted: a table's name with {date}, as \"SENSOR_{date}\"");
  }
  if (!reader->String("name", &text)) return false;
  Result<Daily> named = ParseDailyName(text);
  if (!named) {
    reader->Mistake("name", named.error().message());
    return false;
  }
  const std::string wrong = NameMistake(named->NameOf(kSomeDay), "table", kMaxTableNameBytes);
  if (!wrong.empty()) {
    reader->Mistake("name", wrong);
    return false;
  }
  daily->before = named->before;
  daily->after = named->after;
  return true;
}

void CheckSource(TomlReader* table_reader, const Table& table) {
  if (KeepsNewest(table)) {
    table_reader->Mistake("daily",
                          "a latest table has no days; accepted: daily in a table of events");
  } else if (!table.row_key.segments().empty() && !table.row_key.tells_day()) {
    table_reader->Mistake("daily", "the row key " + table.row_key.text() +
                                       " does not tell a row's day; accepted: a row key with {" +
                                       table.time_field + ":day} or a finer time in one piece");
  }
}

}  // namespace

void ReadDaily(TomlReader* table_reader, Table* table) {
  for (TomlReader& reader : table_reader->Table("daily")) {
    Daily daily;
    const bool named = ReadName(&reader, &daily);
    ReadKeys(&reader, &daily);
    reader.Finish();
    CheckSource(table_reader, *table);
    if (named) table->daily = std::move(daily);
  }
}

void CheckNightlyNames(const std::vector<Placed<Table>>& all,
                       const std::vector<TomlReader>& readers) {
  for (size_t i = 0; i < all.size(); ++i) {
    const std::optional<Daily>& daily = all[i].item.daily;
    if (!daily) continue;
    for (size_t j = 0; j < all.size(); ++j) {
      const Table& other = all[j].item;
      if (daily->FindDay(other.name)) {
        readers[i].Mistake("daily", "the name " + daily->name() + " is that of table " +
                                        other.name +
                                        " for one day; accepted: a name that no "
                                        "other table has");
      } else if (j < i && other.daily && MayShareNames(*daily, *other.daily)) {
        readers[i].Mistake("daily", "the name " + daily->name() +
                                        " may be that of a nightly table of " + other.name + ", " +
                                        other.daily->name() +
                                        "; accepted: a name that no other table has");
      }
    }
  }
}

}  // namespace tallyd
