#include "api/preference.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr int kWhole = 1000;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes what stands before the separator; empty at the end.
std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return Trim(taken);
}

// "0.25" -> 250. One digit, a point, and up to three digits.
int ParseWeight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
  if (text.size() > 1 && text[1] != '.') return 0;
  int weight = (text[0] - '0') * kWhole;
  int place = kWhole;
  for (const char c : text.substr(std::min<size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return 0;
    place /= 10;
    weight += (c - '0') * place;
  }
  return weight > kWhole ? 0 : weight;
}

}  // namespace

std::vector<Preference> ParsePreferences(std::string_view header) {
  std::vector<Preference> preferences;
  while (!header.empty()) {
    std::string_view member = TakeUntil(',', &header);
    Preference preference;
    preference.name = Lower(TakeUntil(';', &member));
    while (!member.empty()) {
      const std::string_view parameter = TakeUntil(';', &member);
      if (parameter.starts_with("q=") || parameter.starts_with("Q=")) {
        preference.weight = ParseWeight(parameter.substr(2));
      }
    }
    if (!preference.name.empty()) preferences.push_back(std::move(preference));
  }
  return preferences;
}

}  // namespace tallyd
