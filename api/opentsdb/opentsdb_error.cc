#include "api/opentsdb/opentsdb_error.h"

#include <string>
#include <utility>

#include "ingest/text/json.h"

namespace tallyd {

Response InOpentsdbForm(Response problem) {
  if (problem.status == 429) problem.status = 503;
  Json error = {{"code", problem.status}, {"message", problem.problem}};
  Response response = Response::Of(problem.status, Json{{"error", std::move(error)}});
  response.headers = std::move(problem.headers);
  response.problem = std::move(problem.problem);
  return response;
}

Response OpentsdbErrorOf(const Error& error) { return InOpentsdbForm(ProblemOf(error)); }

Response OpentsdbError(unsigned status, std::string_view message, std::string_view details) {
  Response response = InOpentsdbForm(Problem(status, message));
  if (details.empty()) return response;
  // As a problem its details are text that is readable whatever they hold.
  const std::string readable = Problem(status, details).problem;
  Json error = {
      {"code", response.status}, {"message", response.problem}, {"details", readable}};
  response.body = Response::Of(response.status, Json{{"error", std::move(error)}}).body;
  response.problem.append(": ").append(readable);
  return response;
}

}  // namespace tallyd
