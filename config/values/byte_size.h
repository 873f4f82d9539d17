// Sizes in the configuration file: bytes as text with a binary unit.
#ifndef TALLYD_CONFIG_VALUES_BYTE_SIZE_H_
#define TALLYD_CONFIG_VALUES_BYTE_SIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

// "65536", "64KiB", "32 MiB", "1GiB"; empty when it is no size or exceeds 64 bits.
std::optional<uint64_t> ParseSize(std::string_view text);
// With the largest unit that divides it: "64KiB", "1000".
std::string FormatSize(uint64_t bytes);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_BYTE_SIZE_H_
