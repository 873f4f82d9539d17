#include "config/schema/pattern.h"

namespace tallyd {

std::string PatternsWith(bool PatternInfo::*property) {
  std::string names;
  for (const PatternInfo& info : kPatterns) {
    if (!(info.*property)) continue;
    if (!names.empty()) names += " or ";
    names += info.name;
  }
  return names;
}

}  // namespace tallyd
