// ChangeRow: mutations of a row through their handler.
#ifndef TALLYD_TESTS_API_CHANGE_ROW_H_
#define TALLYD_TESTS_API_CHANGE_ROW_H_

#include <string>

#include "tests/api/api_world.h"

namespace tallyd {

// `mutations`: what the list holds, in JSON.
inline Response ChangeRow(ApiWorld& world, const std::string& table, const std::string& key,
                          const std::string& mutations) {
  Request request;
  request.principal = world.principal();
  request.method = Method::kPost;
  request.arguments = {table, key};
  request.params = *Params::Parse("");
  request.content_type = "application/json";
  const std::string body = "{\"mutations\":[" + mutations + "]}";
  request.body = body;
  return PostMutations(request, world.context());
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_CHANGE_ROW_H_
