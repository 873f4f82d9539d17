#include "service/query/ask/fill.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

// Of each of Fill but none, in its order.
constexpr std::array<std::string_view, 4> kFills = {"null", "previous", "linear", "0"};

}  // namespace

Result<Fill> ParseFill(std::string_view name) {
  const auto* found = std::ranges::find(kFills, name);
  if (found != kFills.end()) return static_cast<Fill>(found - kFills.begin() + 1);
  return Invalid(fmt::format("fill: '{}' is none of {}", name, fmt::join(kFills, ", ")));
}

}  // namespace tallyd
