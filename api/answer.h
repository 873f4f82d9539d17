// What the answers of rows and events have in common: the format that was asked for, and the link
// to the next page.
#ifndef TALLYD_API_ANSWER_H_
#define TALLYD_API_ANSWER_H_

#include <string>
#include <string_view>

#include "api/answer_format.h"
#include "api/request.h"
#include "config/values/result.h"
#include "service/limits/pages.h"

namespace tallyd {

// `format=` decides, then the weights of Accept, of equals what it names most closely and first,
// and where it names nothing that is spoken here, JSON.
Result<AnswerFormat> ChooseFormat(const Request& request);

// The same request's path and query with another cursor, as the value of a Link header.
std::string NextLink(const Request& request, std::string_view cursor);

}  // namespace tallyd

#endif  // TALLYD_API_ANSWER_H_
