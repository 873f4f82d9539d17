// What an answer says in one of its headers.
#ifndef TALLYD_TESTS_API_RESPONSE_HEADER_H_
#define TALLYD_TESTS_API_RESPONSE_HEADER_H_

#include <string>
#include <string_view>

#include "api/response.h"

namespace tallyd {

// Empty: it has none of that name.
inline std::string HeaderOf(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_RESPONSE_HEADER_H_
