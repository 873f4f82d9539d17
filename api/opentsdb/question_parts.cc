#include "api/opentsdb/question_parts.h"

namespace tallyd {

Result<bool> AsksByBody(const Request& request) {
  const auto meant = request.params.Get("method_override");
  if (!meant || meant->empty()) return request.method == Method::kPost;
  std::string method(*meant);
  for (char& c : method) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (method == "get") return false;
  if (method == "post") return true;
  return Invalid("method_override: here it is get or post");
}

std::string OwnStream(const ApiContext& context) {
  const auto snapshot = context.snapshot();
  const auto& opentsdb = snapshot->schema->protocols.opentsdb;
  return opentsdb ? opentsdb->stream : std::string();
}

}  // namespace tallyd
