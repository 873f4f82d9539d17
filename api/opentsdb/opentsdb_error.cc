#include "api/opentsdb/opentsdb_error.h"

#include <string>
#include <utility>

#include "ingest/text/json.h"

namespace tallyd {
namespace {

// The problem with another body: its status and headers stay.
Response WithError(Response problem, std::string_view message, std::string_view details) {
  Json error = {{"code", problem.status}, {"message", message}};
  if (!details.empty()) error["details"] = details;
  Response response = Response::Of(problem.status, Json{{"error", std::move(error)}});
  response.headers = std::move(problem.headers);
  response.problem = message;
  if (!details.empty()) response.problem.append(": ").append(details);
  return response;
}

}  // namespace

Response InOpentsdbForm(Response problem) {
  LetAgentsTryAgain(&problem);
  const std::string detail = std::move(problem.problem);
  if (problem.status == 405) return WithError(std::move(problem), "Method not allowed", detail);
  return WithError(std::move(problem), detail, {});
}

Response OpentsdbErrorOf(const Error& error) { return InOpentsdbForm(ProblemOf(error)); }

Response OpentsdbError(unsigned status, std::string_view message, std::string_view details) {
  // As problems both are texts that are readable whatever they hold.
  Response problem = Problem(status, message);
  const std::string readable = std::move(problem.problem);
  const std::string of_details = details.empty() ? "" : Problem(status, details).problem;
  return WithError(std::move(problem), readable, of_details);
}

}  // namespace tallyd
