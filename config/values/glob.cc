#include "config/values/glob.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tallyd {
namespace {

// Names are compared by so many leading bytes: what a client sends must not buy quadratic work.
constexpr size_t kComparedBytes = 64;

char Fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, in halves: a letter in the other case costs half of a wrong one.
size_t EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kComparedBytes);
  b = b.substr(0, kComparedBytes);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = 2 * j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], 2 * (i + 1));
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = a[i] == b[j] ? 0 : Fold(a[i]) == Fold(b[j]) ? 1 : 2;
      const size_t best = std::min({row[j] + 2, row[j + 1] + 2, diagonal + change});
      diagonal = std::exchange(row[j + 1], best);
    }
  }
  return row.back();
}

}  // namespace

bool IsGlob(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

// Only the last star needs to be remembered: whatever an earlier one could take, the last can, too.
bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.npos;
  size_t taken = 0;  // Up to here the last star has taken the text.
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

std::vector<std::string> NearestNames(std::string_view wanted,
                                      const std::vector<std::string>& names, size_t limit) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  ranked.reserve(names.size());
  for (const std::string& name : names) ranked.emplace_back(EditDistance(wanted, name), name);
  const auto end = ranked.begin() + static_cast<ptrdiff_t>(std::min(limit, ranked.size()));
  std::partial_sort(ranked.begin(), end, ranked.end());
  std::vector<std::string> nearest;
  for (auto it = ranked.begin(); it != end; ++it) nearest.emplace_back(it->second);
  return nearest;
}

}  // namespace tallyd
