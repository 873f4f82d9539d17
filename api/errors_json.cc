#include "api/errors_json.h"

namespace tallyd {

Json JsonOfErrors(const EventErrors& errors) {
  Json kept = Json::array();
  for (const EventError& error : errors.kept()) {
    Json one = {{"index", error.index}};
    if (!error.field.empty()) one["field"] = JsonOfText(error.field);
    one["detail"] = JsonOfText(error.detail);
    kept.push_back(std::move(one));
  }
  return {{"errors", std::move(kept)}, {"error_count", errors.count()}};
}

}  // namespace tallyd
