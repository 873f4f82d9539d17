// ReadKeys: fills a section's struct from the file, by the table of its keys (config/file/keys.h).
//
//   ReadKeys(&section, &config->log);
//   section.Finish();
//
// Keys that the section's reader reads itself (OwnKey) are left to it. What is absent or wrong
// leaves its member alone. Only for the loader.
#ifndef TALLYD_CONFIG_FILE_READ_KEYS_H_
#define TALLYD_CONFIG_FILE_READ_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/file/keys.h"
#include "config/file/load.h"
#include "config/file/toml_reader.h"

namespace tallyd {

// Reads one key, whose kind it is called with. Each returns whether the key was there and right.
template <class S>
class KeyReader {
 public:
  KeyReader(TomlReader* section, std::string_view name, S* filled)
      : section_(section), name_(name), filled_(filled) {}

  bool operator()(const TextKey<S>& key) const {
    return section_->String(name_, &(filled_->*key.member));
  }
  bool operator()(const ListKey<S>& key) const {
    return section_->Strings(name_, &(filled_->*key.member));
  }
  bool operator()(const ListenKey<S>& key) const {
    return ReadListen(section_, name_, &(filled_->*key.member));
  }
  bool operator()(const BoolKey<S>& key) const {
    return section_->Bool(name_, &(filled_->*key.member));
  }
  bool operator()(const WordKey<S>& key) const {
    return section_->Word(name_, key.words, &(filled_->*key.member));
  }
  template <class T>
  bool operator()(const ChoiceKey<S, T>& key) const {
    typename Contained<T>::Type value{};
    return section_->Choice(name_, key.values, &value) && Put(value, key.member);
  }
  template <class T>
  bool operator()(const CountKey<S, T>& key) const {
    uint64_t count = 0;
    return section_->Integer(name_, key.bounds, &count) &&
           Put(static_cast<typename Contained<T>::Type>(count), key.member);
  }
  bool operator()(const NumberKey<S>& key) const {
    double number = 0;
    if (!section_->PositiveNumber(name_, &number)) return false;
    if (number > static_cast<double>(key.most)) {
      section_->Mistake(name_, std::string(key.beyond) + "; accepted: a number above 0, at most " +
                                   std::to_string(key.most));
      return false;
    }
    return Put(number, key.member);
  }
  template <class T>
  bool operator()(const SizeKey<S, T>& key) const {
    uint64_t bytes = 0;
    return section_->Size(name_, key.bounds, &bytes) && Put(bytes, key.member);
  }
  template <class T>
  bool operator()(const DurationKey<S, T>& key) const {
    int64_t us = 0;
    return section_->Duration(name_, key.bounds, &us) && Put(us, key.member);
  }
  bool operator()(const DurationOrOffKey<S>& key) const {
    return section_->DurationOrOff(name_, key.bounds, &(filled_->*key.member));
  }
  bool operator()(const MomentKey<S>& key) const {
    return section_->Moment(name_, &(filled_->*key.member));
  }
  bool operator()(const TimeOfDayKey<S>& key) const {
    return section_->TimeOfDay(name_, &(filled_->*key.member));
  }
  bool operator()(const OwnKey&) const { return false; }

 private:
  template <class V, class T>
  bool Put(V value, T S::*member) const {
    filled_->*member = value;
    return true;
  }

  TomlReader* section_;
  std::string_view name_;
  S* filled_;
};

template <class S>
void ReadKeys(TomlReader* section, S* filled) {
  for (const ConfigKey<S>& key : ConfigKeys<S>()) {
    const bool was_read = std::visit(KeyReader<S>(section, key.name, filled), key.kind);
    if (was_read && key.check != nullptr) key.check(*section, filled);
  }
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_READ_KEYS_H_
