#include "api/warnings.h"

namespace tallyd {

void AddWarnings(const std::vector<std::string>& warnings, Json* answer) {
  for (const std::string& warning : warnings) (*answer)["warnings"].push_back(JsonOfText(warning));
}

}  // namespace tallyd
