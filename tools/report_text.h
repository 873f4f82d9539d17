// What a tool found, as text for people and as JSON.
#ifndef TALLYD_TOOLS_REPORT_TEXT_H_
#define TALLYD_TOOLS_REPORT_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/leveldb/tools/toolbox.h"
#include "storage/leveldb/tools/verify.h"

namespace tallyd {

// Millions of bytes a second.
double RateOf(uint64_t bytes, double seconds);

std::string FindingsText(const std::vector<Finding>& findings);
nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings);
// Indented, and with a newline at its end; strings may hold any bytes.
std::string JsonText(const nlohmann::ordered_json& json);

std::string VerifyText(const VerifyReport& report, const std::string& path);
nlohmann::ordered_json VerifyJson(const VerifyReport& report, const std::string& path);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_REPORT_TEXT_H_
