// Globs over field names and qualifiers: '*' is any run of bytes, '?' one byte; every other byte is
// itself.
#ifndef TALLYD_CONFIG_VALUES_GLOB_H_
#define TALLYD_CONFIG_VALUES_GLOB_H_

#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

bool IsGlob(std::string_view pattern);
bool GlobMatches(std::string_view pattern, std::string_view text);

// The names nearest to `wanted` by edit distance, best first, at most `limit`: for messages that
// say what would be right.
std::vector<std::string> NearestNames(std::string_view wanted,
                                      const std::vector<std::string>& names, size_t limit = 3);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_GLOB_H_
