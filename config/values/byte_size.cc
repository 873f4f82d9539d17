#include "config/values/byte_size.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tallyd {
namespace {

struct SizeUnit {
  std::string_view name;
  int shift;
};
constexpr std::array<SizeUnit, 6> kSizeUnits = {
    {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};

}  // namespace

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, count);
  if (ec != std::errc()) return std::nullopt;
  std::string_view name(rest, static_cast<size_t>(end - rest));
  if (name.size() > 1 && name.front() == ' ') name.remove_prefix(1);
  const auto unit = std::find_if(kSizeUnits.begin(), kSizeUnits.end(),
                                 [name](const SizeUnit& u) { return u.name == name; });
  if (unit == kSizeUnits.end() || count > (UINT64_MAX >> unit->shift)) return std::nullopt;
  return count << unit->shift;
}

std::string FormatSize(uint64_t bytes) {
  auto unit = std::find_if(kSizeUnits.rbegin(), kSizeUnits.rend(), [bytes](const SizeUnit& u) {
    return bytes >> u.shift << u.shift == bytes && bytes >> u.shift != 0;
  });
  if (unit == kSizeUnits.rend() || unit->shift == 0) return std::to_string(bytes);
  return std::to_string(bytes >> unit->shift).append(unit->name);
}

}  // namespace tallyd
