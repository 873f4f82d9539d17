#include "api/removal/count_json.h"

namespace tallyd {

Json JsonOfCount(const RemovalCount& count) {
  Json json = Json::object();
  if (!count.rows()) return json;
  json["rows"] = *count.rows();
  if (count.cells()) json["cells"] = *count.cells();
  json["counted"] = count.is_exact() ? "exact" : "estimated";
  return json;
}

}  // namespace tallyd
