// What Bigtable refuses for its size. Google's emulator enforces none of it, so whoever never ran
// against more than the emulator learns of these from the service.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_LIMITS_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace tallyd::tablet {

inline constexpr size_t kRowKeyBytesMax = 4096;
inline constexpr size_t kQualifierBytesMax = 16 << 10;
inline constexpr size_t kValueBytesMax = 100 << 20;
inline constexpr size_t kRowBytesMax = 256 << 20;  // What can be read of one row.
inline constexpr int kMutationsMax = 100'000;      // In a call.
inline constexpr size_t kMessageBytesMax = 256 << 20;
inline constexpr size_t kReadRequestBytesMax = 512 << 10;
inline constexpr size_t kFilterBytesMax = 20'480;
inline constexpr int kFilterDepthMax = 20;
inline constexpr size_t kLabelBytesMax = 15;
inline constexpr size_t kGcRuleBytesMax = 500;
inline constexpr size_t kTableNameBytesMax = 50;
inline constexpr size_t kFamilyNameBytesMax = 64;
inline constexpr size_t kTokenBytesMin = 8;
inline constexpr int64_t kTokenLifeUs = 15 * 60 * int64_t{1'000'000};
inline constexpr int64_t kMillisUs = 1000;  // The granularity of most tables.

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_LIMITS_H_
