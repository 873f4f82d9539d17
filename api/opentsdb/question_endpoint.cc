#include "api/opentsdb/question_endpoint.h"

#include <utility>

#include "api/opentsdb/opentsdb_error.h"

namespace tallyd {

bool OpentsdbQuestionEndpoint::IsSpoken() {
  return context().snapshot()->schema->protocols.opentsdb.has_value();
}

std::optional<Response> OpentsdbQuestionEndpoint::Admit() {
  if (IsSpoken()) return std::nullopt;
  return Problem(404, "there is nothing at this path: the file has no [protocols.opentsdb]");
}

boost::asio::awaitable<Response> OpentsdbQuestionEndpoint::Answer() {
  Response response = co_await QueryEndpoint::Answer();
  if (response.problem.empty()) co_return response;
  // A long one was compressed, and is written anew.
  std::erase_if(response.headers,
                [](const auto& header) { return header.first == "Content-Encoding"; });
  co_return InOpentsdbForm(std::move(response));
}

Response OpentsdbQuestionEndpoint::Refused(RejectReason reason, Response problem) {
  Response refused = QueryEndpoint::Refused(reason, std::move(problem));
  return IsSpoken() ? InOpentsdbForm(std::move(refused)) : std::move(refused);
}

}  // namespace tallyd
