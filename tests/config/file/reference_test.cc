// docs/configuration.md is the reference of the file: it names every key that the loader accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::Contains;

// Every section with one unknown key: the messages list what each of them accepts.
constexpr const char* kUnknownEverywhere = R"(
x = 1
[server]
x = 1
[storage]
x = 1
[ingest]
x = 1
[log]
x = 1
[streams.s]
x = 1
fields.a = { x = 1 }
queries = [{ x = 1 }]
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
    std::istringstream list(line.substr(line.find(accepted) + accepted.size()));
    for (std::string key; std::getline(list >> std::ws, key, ',');) keys.insert(key);
  }
  return keys;
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
                          text.find("## `[" + key) != std::string::npos;
    EXPECT_TRUE(is_named) << key;
  }
}

}  // namespace
}  // namespace tallyd
