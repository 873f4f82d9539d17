// Mistakes: what is wrong in one configuration file, collected so that its author sees all of it at
// once. Each becomes one line: "FILE:LINE: KEY: what is wrong; what is accepted".
#ifndef TALLYD_CONFIG_FILE_MISTAKES_H_
#define TALLYD_CONFIG_FILE_MISTAKES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

// The rule `time` of lint, about what is taken for an event's time: it has a name instead of a
// number, and this stands for it.
inline constexpr int kTimeRule = 1001;

// A mistake that is also what a rule of lint finds (config/lint/finding.h).
struct RuledMistake {
  int rule = 0;       // 14 is L14; or kTimeRule.
  std::string table;  // "" for the whole instance.
  std::string text;   // "KEY: what is wrong; what is accepted".
};

class Mistakes {
 public:
  // `rule`: the number of lint's rule that the mistake breaks; 0: none.
  void Add(uint32_t line, std::string_view key, std::string_view text, int rule = 0);

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  // Whether some mistake breaks no rule of lint.
  bool AnyWithoutRule() const;
  // Those that break one, in the file's order.
  std::vector<RuledMistake> Ruled() const;
  // In the file's order. REQUIRES: not empty.
  Error ToError(std::string_view file) const;

 private:
  struct Item {
    uint32_t line;
    std::string text;  // "KEY: what is wrong; what is accepted".
    int rule;
    std::string table;
  };
  std::vector<Item> InFileOrder() const;

  std::vector<Item> items_;
};

// "a, b, c": for "accepted: ...".
std::string Listed(const std::vector<std::string>& names);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_MISTAKES_H_
