// docs/configuration.md is the reference of the file: its tables have every key that the loader
// accepts, with the type, the default and the way of applying it that config/file/keys.h has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "config/file/config.h"
#include "config/file/keys.h"
#include "config/values/byte_size.h"

namespace tallyd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

// Every section with one unknown key: the messages list what each of them accepts.
constexpr const char* kUnknownEverywhere = R"(
x = 1
[server]
x = 1
[server.tls]
x = 1
[storage]
engine = "bigtable"
x = 1
[storage.bigtable]
project = "p"
instance = "i"
x = 1
[ingest]
x = 1
[log]
x = 1
[auth]
x = 1
[[auth.tokens]]
x = 1
[streams.s]
x = 1
fields.a = { x = 1 }
queries = [{ x = 1 }]
[protocols]
x = 1
[protocols.influx]
x = 1
[protocols.opentsdb]
x = 1
[tables.T]
pattern = "new-cell"
row_key = "{a}#{ts:day}"
x = 1
daily = { name = "T_{date}", x = 1 }
families.M = { x = 1 }
columns = [{ family = "M", x = 1 }]
)";

std::string ReferenceText() {
  std::ostringstream text;
  text << std::ifstream(TALLYD_SOURCE_DIR "/docs/configuration.md").rdbuf();
  return text.str();
}

std::set<std::string> AcceptedKeys() {
  const std::string accepted = "; accepted: ";
  std::set<std::string> keys;
  std::istringstream message(ParseConfig(kUnknownEverywhere, "t.toml").error().message());
  for (std::string line; std::getline(message, line);) {
    if (line.find("unknown key") == std::string::npos) continue;  // Of a key that is missing.
    std::istringstream list(line.substr(line.find(accepted) + accepted.size()));
    for (std::string key; std::getline(list >> std::ws, key, ',');) keys.insert(key);
  }
  return keys;
}

std::string InBackticks(std::string_view text) { return "`" + std::string(text) + "`"; }
std::string AsString(std::string_view text) { return "`\"" + std::string(text) + "\"`"; }

std::string RangeText(const std::string& least, const std::string& most) {
  return ", " + (least.empty() ? "up to" : least + " to") + " " + most;
}

// The column "type": what is accepted.
struct TypeText {
  template <class S>
  std::string operator()(const TextKey<S>&) const {
    return "string";
  }
  template <class S>
  std::string operator()(const ListKey<S>&) const {
    return "array of strings";
  }
  template <class S>
  std::string operator()(const ListenKey<S>&) const {
    return "string, or array of tables";
  }
  template <class S>
  std::string operator()(const BoolKey<S>&) const {
    return "bool";
  }
  template <class S>
  std::string operator()(const WordKey<S>& key) const {
    std::string list;
    for (const std::string_view word : key.words) {
      list.append(list.empty() ? "" : ", ").append(AsString(word));
    }
    return list;
  }
  template <class S, class T>
  std::string operator()(const ChoiceKey<S, T>& key) const {
    std::string list;
    for (const auto& value : key.values) {
      list.append(list.empty() ? "" : ", ").append(AsString(value.name));
    }
    return list;
  }
  template <class S, class T>
  std::string operator()(const CountKey<S, T>& key) const {
    const std::string least = std::to_string(key.bounds.least);
    if (key.bounds.most >= INT32_MAX) return "integer, at least " + least;
    return "integer" + RangeText(least, std::to_string(key.bounds.most));
  }
  template <class S>
  std::string operator()(const NumberKey<S>& key) const {
    const bool has_most = key.most != std::numeric_limits<uint64_t>::max();
    return has_most ? "number above 0, at most " + std::to_string(key.most) : "number above 0";
  }
  template <class S, class T>
  std::string operator()(const SizeKey<S, T>& key) const {
    constexpr uint64_t kMoreThanAnyDisk = uint64_t{1} << 60;
    const std::string type = key.per_second ? "size per second" : "size";
    const std::string least = key.bounds.least == 0 ? "" : FormatSize(key.bounds.least);
    if (key.bounds.most >= kMoreThanAnyDisk) return type + ", at least " + least;
    return type + RangeText(least, FormatSize(key.bounds.most));
  }
  template <class S, class T>
  std::string operator()(const DurationKey<S, T>& key) const {
    const std::string least = FormatDuration(key.bounds.least);
    if (key.bounds.most == std::numeric_limits<int64_t>::max()) {
      return key.bounds.least <= 1 ? "duration" : "duration, at least " + least;
    }
    return "duration" + RangeText(least, FormatDuration(key.bounds.most));
  }
  template <class S>
  std::string operator()(const DurationOrOffKey<S>& key) const {
    return "duration" +
           RangeText(FormatDuration(key.bounds.least), FormatDuration(key.bounds.most)) + ", or " +
           AsString("off");
  }
  template <class S>
  std::string operator()(const MomentKey<S>&) const {
    return "a date, or RFC 3339 with a zone";
  }
  template <class S>
  std::string operator()(const TimeOfDayKey<S>&) const {
    return "string";
  }
  std::string operator()(const OwnKey& key) const { return std::string(key.type); }
};

std::string SizeText(uint64_t bytes) { return AsString(FormatSize(bytes)); }
std::string DurationText(int64_t us) { return AsString(FormatDuration(us)); }

template <class T, class Text>
std::string OrNone(const std::optional<T>& value, Text text) {
  return value ? text(*value) : "none";
}

// The column "default", of a key whose member tells it.
template <class S>
struct DefaultText {
  S silent = {};

  std::string operator()(const TextKey<S>& key) const {
    const std::string& text = silent.*key.member;
    return text.empty() ? "none" : AsString(text);
  }
  std::string operator()(const ListKey<S>& key) const {
    EXPECT_TRUE((silent.*key.member).empty());
    return "`[]`";
  }
  std::string operator()(const ListenKey<S>& key) const {
    const std::vector<ListenAddress>& addresses = silent.*key.member;
    EXPECT_EQ(addresses.size(), 1u);
    return AsString(addresses.front().at);
  }
  std::string operator()(const BoolKey<S>& key) const {
    return InBackticks(silent.*key.member ? "true" : "false");
  }
  std::string operator()(const WordKey<S>& key) const { return AsString(silent.*key.member); }
  template <class T>
  std::string operator()(const ChoiceKey<S, T>& key) const {
    for (const auto& value : key.values) {
      if (silent.*key.member == value.value) return AsString(value.name);
    }
    return "none";
  }
  template <class T>
  std::string operator()(const CountKey<S, T>& key) const {
    return OrNone(std::optional(silent.*key.member),
                  [](auto count) { return InBackticks(std::to_string(count)); });
  }
  std::string operator()(const NumberKey<S>& key) const {
    std::ostringstream text;
    text << silent.*key.member;
    return InBackticks(text.str());
  }
  template <class T>
  std::string operator()(const SizeKey<S, T>& key) const {
    return OrNone(std::optional(silent.*key.member), SizeText);
  }
  template <class T>
  std::string operator()(const DurationKey<S, T>& key) const {
    return OrNone(std::optional(silent.*key.member), DurationText);
  }
  std::string operator()(const DurationOrOffKey<S>& key) const {
    return OrNone(silent.*key.member, DurationText);
  }
  std::string operator()(const MomentKey<S>& key) const {
    return AsString(FormatRfc3339(silent.*key.member));
  }
  std::string operator()(const TimeOfDayKey<S>& key) const {
    return AsString(FormatTimeOfDay(silent.*key.member));
  }
  std::string operator()(const OwnKey&) const { return "none"; }
};

// A table of the page: whether it has the column "applied by", and its rows.
struct PageTable {
  bool tells_applied = false;
  std::vector<std::string> rows;
};

// The first one below the heading whose header begins so.
PageTable TableBelow(const std::string& heading, const std::string& header) {
  std::istringstream page(ReferenceText());
  PageTable table;
  std::string line;
  while (std::getline(page, line) && line != heading) continue;
  while (std::getline(page, line) && !line.starts_with(header)) continue;
  table.tells_applied = line.find("| applied by |") != line.npos;
  std::getline(page, line);  // Dashes.
  while (std::getline(page, line) && line.starts_with("|")) table.rows.push_back(line);
  EXPECT_FALSE(table.rows.empty()) << heading << " has no table " << header;
  return table;
}

// How the row of a key begins; what it means comes behind.
template <class S>
std::string RowStart(const ConfigKey<S>& key, bool tells_applied) {
  std::string row = "| " + InBackticks(key.name) + " | " + std::visit(TypeText(), key.kind) + " | ";
  row.append(key.absent.empty() ? std::visit(DefaultText<S>(), key.kind) : key.absent);
  row.append(" | ");
  if (tells_applied) row.append(key.applied == Applied::kByReload ? "reload | " : "restart | ");
  return row;
}

template <class S>
void ExpectInReference(const PageTable& table) {
  size_t documented = 0;
  for (const ConfigKey<S>& key : ConfigKeys<S>()) {
    EXPECT_THAT(table.rows, Contains(StartsWith(RowStart(key, table.tells_applied))));
    EXPECT_TRUE(table.tells_applied || key.applied == Applied::kByReload) << key.name;
    ++documented;
  }
  EXPECT_EQ(table.rows.size(), documented) << "the page has a key that is none";
}

template <class S>
std::set<std::string> NamesOf() {
  std::set<std::string> names;
  for (const ConfigKey<S>& key : ConfigKeys<S>()) names.emplace(key.name);
  return names;
}

TEST(ReferenceTest, NamesEveryKey) {
  const std::string text = ReferenceText();
  ASSERT_FALSE(text.empty());
  const std::set<std::string> keys = AcceptedKeys();
  for (const char* known : {"server", "listen", "ballast", "level", "unit", "distinct", "weight",
                            "row_key", "max_age", "serialize"}) {
    EXPECT_THAT(keys, Contains(known)) << "the messages of the loader read otherwise";
  }
  for (const std::string& key : keys) {
    const bool is_named = text.find("| `" + key + "` |") != std::string::npos ||
                          text.find("## `[" + key) != std::string::npos ||
                          text.find("## `[[" + key) != std::string::npos ||
                          text.find("." + key + "]`\n") != std::string::npos ||
                          text.find("." + key + "]]`\n") != std::string::npos;
    EXPECT_TRUE(is_named) << key;
  }
}

TEST(ReferenceTest, TellsOfEachKeyOfTheDaemonWhatTheLoaderTakesAndWhatAppliesIt) {
  ExpectInReference<ServerConfig>(TableBelow("## `[server]`", "| key |"));
  ExpectInReference<TlsFiles>(TableBelow("## `[server.tls]`", "| key |"));
  ExpectInReference<IngestGuards>(TableBelow("## `[ingest]`", "| key |"));
  ExpectInReference<StorageConfig>(TableBelow("## `[storage]`", "| key |"));
  ExpectInReference<BigtableConfig>(TableBelow("## `[storage.bigtable]`", "| key |"));
  ExpectInReference<LogConfig>(TableBelow("## `[log]`", "| key |"));
  ExpectInReference<TokenConfig>(TableBelow("## `[[auth.tokens]]`", "| key |"));
  ExpectInReference<InfluxConfig>(TableBelow("## `[protocols.influx]`", "| key |"));
  ExpectInReference<OpenTsdbConfig>(TableBelow("## `[protocols.opentsdb]`", "| key |"));
}

TEST(ReferenceTest, TellsOfEachKeyOfAStreamWhatTheLoaderTakes) {
  const std::string heading = "## `[streams.NAME]`";
  PageTable stream = TableBelow(heading, "| key |");
  const size_t guards = std::erase_if(stream.rows, [](const std::string& row) {
    return row.starts_with("| `min_time`, `max_future` | as in `[ingest]` | ");
  });
  EXPECT_EQ(guards, 1u);
  EXPECT_EQ(NamesOf<IngestGuards>(), (std::set<std::string>{"min_time", "max_future"}));
  ExpectInReference<Stream>(stream);
  ExpectInReference<FieldHints>(TableBelow(heading, "| key of `fields.F` |"));
  ExpectInReference<QueryHint>(TableBelow(heading, "| key of a query |"));
}

TEST(ReferenceTest, TellsOfEachKeyOfATableWhatTheLoaderTakes) {
  ExpectInReference<Table>(TableBelow("## `[tables.NAME]`", "| key |"));
  ExpectInReference<Family>(TableBelow("### Families", "| key |"));
  ExpectInReference<Daily>(TableBelow("### Nightly tables", "| key |"));
  ExpectInReference<ColumnRule>(TableBelow("### Column rules", "| key |"));
}

}  // namespace
}  // namespace tallyd
