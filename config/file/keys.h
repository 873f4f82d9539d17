// The keys of the configuration file, a table for each section (keys.cc): of each key its name, its
// type with bounds and unit, the member that it fills, and what applies a change of it. The loader
// reads by the tables (read_keys.h), the daemon compares by them what a reload may change, and a
// test compares docs/configuration.md with them.
//
//   for (const ConfigKey<StorageConfig>& key : ConfigKeys<StorageConfig>()) {
//     if (!HasSameValue(key, in_force, loaded)) ...
//   }
//
// A key's default is what its member holds in a struct that nobody has filled. Immutable; any
// thread.
#ifndef TALLYD_CONFIG_FILE_KEYS_H_
#define TALLYD_CONFIG_FILE_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/file/accepted.h"
#include "config/file/config.h"
#include "config/schema/schema.h"

namespace tallyd {

class TomlReader;

enum class Applied : uint8_t { kByReload, kByRestart };

// What is in an optional member, and in any other the member itself.
template <class T>
struct Contained {
  using Type = T;
};
template <class T>
struct Contained<std::optional<T>> {
  using Type = T;
};

// The kinds of keys. S is the section's struct; T, where a kind has it, the member's type, which
// may be optional: it is then empty unless the file has the key.

template <class S>
struct TextKey {
  std::string S::*member;
};

template <class S>
struct ListKey {  // An array of strings, none of them empty.
  std::vector<std::string> S::*member;
};

// A string, HOST:PORT, or an array of tables { at = "HOST:PORT", tls = true }.
template <class S>
struct ListenKey {
  std::vector<ListenAddress> S::*member;
};

template <class S>
struct BoolKey {
  bool S::*member;
};

template <class S>
struct WordKey {  // A string, one of these.
  std::string S::*member;
  std::span<const std::string_view> words;
};

template <class S, class T>
struct ChoiceKey {  // A string that stands for a value, as of an enumeration.
  T S::*member;
  std::span<const NamedValue<typename Contained<T>::Type>> values;
};
template <class S, class T, class E, size_t kCount>
ChoiceKey(T S::*, const std::array<NamedValue<E>, kCount>&) -> ChoiceKey<S, T>;

template <class S, class T>
struct CountKey {  // An integer.
  T S::*member;
  Bounds<uint64_t> bounds;
};
template <class S, class T>
CountKey(T S::*, Bounds<uint64_t>) -> CountKey<S, T>;

template <class S>
struct NumberKey {  // Above 0; decimals are taken.
  double S::*member;
  uint64_t most = std::numeric_limits<uint64_t>::max();
  std::string_view beyond = {};  // What one that is more than `most` is.
};

template <class S, class T>
struct SizeKey {  // In bytes, or bytes per second.
  T S::*member;
  Bounds<uint64_t> bounds;
  bool per_second = false;
};
template <class S, class T>
SizeKey(T S::*, Bounds<uint64_t>, bool = false) -> SizeKey<S, T>;

template <class S, class T>
struct DurationKey {  // In microseconds.
  T S::*member;
  Bounds<int64_t> bounds;
};
template <class S, class T>
DurationKey(T S::*, Bounds<int64_t>) -> DurationKey<S, T>;

template <class S>
struct DurationOrOffKey {  // In microseconds; "off" is none.
  std::optional<int64_t> S::*member;
  Bounds<int64_t> bounds;
};

template <class S>
struct MomentKey {
  TimeUs S::*member;
};

template <class S>
struct TimeOfDayKey {  // In microseconds since midnight, UTC.
  int64_t S::*member;
};

// The section's reader reads it: its value takes more than the key to be understood, or is a table.
struct OwnKey {
  std::string_view type;  // As docs/configuration.md has it.
};

// An enumeration that no key had yet, or a number of another width, is added here.
template <class S>
using KeyKind =
    std::variant<TextKey<S>, ListKey<S>, ListenKey<S>, BoolKey<S>, WordKey<S>, ChoiceKey<S, bool>,
                 ChoiceKey<S, Sync>, ChoiceKey<S, TimeUnit>, ChoiceKey<S, Serialization>,
                 ChoiceKey<S, std::optional<Aggregate>>, CountKey<S, uint32_t>,
                 CountKey<S, std::optional<uint32_t>>, CountKey<S, std::optional<uint64_t>>,
                 NumberKey<S>, SizeKey<S, uint64_t>, SizeKey<S, std::optional<uint64_t>>,
                 DurationKey<S, int64_t>, DurationKey<S, std::optional<int64_t>>,
                 DurationOrOffKey<S>, MomentKey<S>, TimeOfDayKey<S>, OwnKey>;

template <class S>
struct ConfigKey {
  std::string_view name;
  Applied applied;
  KeyKind<S> kind;
  // What a file without the key means, where the member does not tell it: "required".
  std::string_view absent = {};
  // What else must be right: runs once the key was read, and adds mistakes.
  void (*check)(const TomlReader& section, S* filled) = nullptr;
};

// Whether the key says the same in both. Keys that fill no member do.
template <class S>
bool HasSameValue(const ConfigKey<S>& key, const S& a, const S& b) {
  return std::visit(
      [&](const auto& kind) {
        if constexpr (requires { kind.member; }) return a.*kind.member == b.*kind.member;
        return true;
      },
      key.kind);
}

// The table of the section that fills an S, in the order in which its keys are read. S is one of
// those that keys.cc lists at its end.
template <class S>
std::span<const ConfigKey<S>> ConfigKeys();

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_KEYS_H_
