// TomlReader: one table of the configuration file, read key by key with types. What is absent
// leaves its target, and so its default, alone; what is wrong becomes a mistake, and reading goes
// on.
//
//   TomlReader server = ...;
//   server.Size("max_body", {1024, 1u << 30}, &config.max_body);
//   server.Finish();  // Whatever was not asked for by now is an unknown key.
//
// Each reader returns whether the key was there and right. Copyable; the parsed file and the
// Mistakes outlive it. Only for the loader.
#ifndef TALLYD_CONFIG_FILE_TOML_READER_H_
#define TALLYD_CONFIG_FILE_TOML_READER_H_

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/accepted.h"
#include "config/file/mistakes.h"
#include "config/values/time.h"

namespace tallyd {

class TomlReader {
 public:
  // `path` is the table's full name ("tables.METRIC"), empty at the root.
  TomlReader(const toml::table& table, std::string path, uint32_t line, Mistakes* mistakes);

  bool String(std::string_view key, std::string* out);
  bool Strings(std::string_view key, std::vector<std::string>* out);
  // One string, or an array of them; none of them empty.
  bool StringOrStrings(std::string_view key, std::vector<std::string>* out);
  bool Bool(std::string_view key, bool* out);
  bool Integer(std::string_view key, Bounds<uint64_t> bounds, uint64_t* out);
  bool PositiveNumber(std::string_view key, double* out);
  // Bytes: 65536, "64KiB", "32MiB", "1GiB".
  bool Size(std::string_view key, Bounds<uint64_t> bounds, uint64_t* out);
  // Microseconds: "500ms", "30m", "7d".
  bool Duration(std::string_view key, Bounds<int64_t> bounds, int64_t* out);
  // The same, or "off", which is none.
  bool DurationOrOff(std::string_view key, Bounds<int64_t> bounds, std::optional<int64_t>* out);
  // A moment: "1973-03-03", which begins in UTC, or RFC 3339, in quotes or as TOML has dates.
  bool Moment(std::string_view key, TimeUs* out);
  // Microseconds since midnight, UTC: "00:30".
  bool TimeOfDay(std::string_view key, int64_t* out);

  // A string, one of these.
  bool Word(std::string_view key, std::span<const std::string_view> words, std::string* out);
  // The same, each of which stands for a value.
  template <class T>
  bool Choice(std::string_view key, std::span<const NamedValue<T>> values, T* out) {
    std::vector<std::string_view> names;
    for (const NamedValue<T>& value : values) names.push_back(value.name);
    std::string chosen;
    if (!Word(key, names, &chosen)) return false;
    for (const NamedValue<T>& value : values) {
      if (value.name == chosen) *out = value.value;
    }
    return true;
  }

  // A table under this one; empty when it is absent or wrong.
  std::vector<TomlReader> Table(std::string_view key);
  // An array of tables under this one, in order.
  std::vector<TomlReader> TablesOf(std::string_view key);
  // The members of this table, all of them tables, in the file's order.
  std::vector<TomlReader> Members();
  // The members of this table, all of them strings, in the file's order.
  std::vector<std::pair<std::string, std::string>> StringMembers();

  bool Has(std::string_view key) const { return table_->contains(key); }
  bool IsString(std::string_view key) const;
  bool IsEmptyArray(std::string_view key) const;
  // Whether a mistake was found so far, here or elsewhere in the file.
  bool AnyMistakes() const { return !mistakes_->empty(); }
  // Adds a mistake about one key (absent: about the table itself). `rule`: that of lint which it
  // breaks, too (config/file/mistakes.h).
  void Mistake(std::string_view key, std::string_view text, int rule = 0) const;
  // Adds a mistake about this table.
  void Mistake(std::string_view text, int rule = 0) const;
  // Adds a mistake for each key that nothing asked for.
  void Finish() const;

  // The last part of the path: the name of a stream, a table, a family.
  std::string name() const { return name_; }
  uint32_t line() const { return line_; }

 private:
  // Null: absent. Remembers the key as one that is accepted.
  const toml::node* Find(std::string_view key);
  std::string PathOf(std::string_view key) const;
  uint32_t LineOf(std::string_view key) const;
  TomlReader Under(const toml::table& table, std::string_view key) const;
  // "is a string; accepted: ..."
  void WrongType(std::string_view key, const toml::node& node, std::string_view accepted) const;

  const toml::table* table_;
  std::string path_;
  std::string name_;
  uint32_t line_;
  Mistakes* mistakes_;
  std::vector<std::string> accepted_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_TOML_READER_H_
