#include "api/http/line_limit.h"

#include <fmt/format.h>

#include <utility>

namespace tallyd {

std::optional<std::string> LineLimit::Take(std::string_view kind, Time now) {
  const std::lock_guard lock(mutex_);
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    if (kinds_.size() >= kMostKinds) kind = {};
    found = kinds_.try_emplace(std::string(kind), Kind{now - kQuiet, 0}).first;
  }
  Kind& of_kind = found->second;
  if (now - of_kind.told < kQuiet) {
    ++of_kind.left_out;
    return std::nullopt;
  }
  of_kind.told = now;
  const uint64_t left_out = std::exchange(of_kind.left_out, 0);
  return left_out == 0 ? std::string()
                       : fmt::format(" ({} more of this kind were left out before)", left_out);
}

}  // namespace tallyd
