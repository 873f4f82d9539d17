// What a key of the configuration file accepts: a range of numbers, or one of a few words.
#ifndef TALLYD_CONFIG_FILE_ACCEPTED_H_
#define TALLYD_CONFIG_FILE_ACCEPTED_H_

#include <string_view>

namespace tallyd {

// Inclusive.
template <class T>
struct Bounds {
  T least;
  T most;
};

// A value, and how the file spells it.
template <class T>
struct NamedValue {
  std::string_view name;
  T value;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_ACCEPTED_H_
