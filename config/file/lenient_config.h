// The configuration file as `tallyd lint` reads it: a mistake that a rule of lint covers does not
// stop the reading. It is told with its rule, and the table that it is in is left out of the
// schema, and with it the declared queries of its stream. Any other mistake is an error, as of
// LoadConfig.
#ifndef TALLYD_CONFIG_FILE_LENIENT_CONFIG_H_
#define TALLYD_CONFIG_FILE_LENIENT_CONFIG_H_

#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/file/mistakes.h"

namespace tallyd {

struct LenientConfig {
  Config config;
  std::vector<RuledMistake> ruled;  // In the file's order.
};

Result<LenientConfig> LoadConfigLeniently(const std::string& file);
// The same from text; `file` serves messages and relative paths.
Result<LenientConfig> ParseConfigLeniently(const std::string& text, const std::string& file);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_LENIENT_CONFIG_H_
