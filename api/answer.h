// What the answers of rows and events have in common: the format that was asked for, the sizes of
// pages, and the link to the next one.
#ifndef TALLYD_API_ANSWER_H_
#define TALLYD_API_ANSWER_H_

#include <string>
#include <string_view>

#include "api/answer_format.h"
#include "api/request.h"
#include "config/values/result.h"

namespace tallyd {

// `format=` decides, then the weights of Accept, of equals what it names most closely and first,
// and where it names nothing that is spoken here, JSON.
Result<AnswerFormat> ChooseFormat(const Request& request);

// Pages of answers without `limit`, and the most that one may ask for.
inline constexpr uint64_t kDefaultLimit = 10'000;
inline constexpr uint64_t kMaxLimit = 1'000'000;
// A scan holds back space and the engine's reopening: a stream whose client is slow opens another.
inline constexpr int64_t kMaxScanAgeUs = 5'000'000;

// The same request's path and query with another cursor, as the value of a Link header.
std::string NextLink(const Request& request, std::string_view cursor);

}  // namespace tallyd

#endif  // TALLYD_API_ANSWER_H_
