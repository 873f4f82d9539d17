// The endpoint of OpenTSDB's questions: that of any query, whose errors have the protocol's form.
// Where the configuration does not have the protocol there is nothing at its paths.
#ifndef TALLYD_API_OPENTSDB_QUESTION_ENDPOINT_H_
#define TALLYD_API_OPENTSDB_QUESTION_ENDPOINT_H_

#include <optional>

#include "api/endpoint/query_endpoint.h"

namespace tallyd {

class OpentsdbQuestionEndpoint final : public QueryEndpoint {
 public:
  OpentsdbQuestionEndpoint(Exchange& exchange, Handler handler)
      : QueryEndpoint(exchange, handler, exchange.threads.queries) {}

  std::optional<Response> Admit() override;
  boost::asio::awaitable<Response> Answer() override;
  Response Refused(RejectReason reason, Response problem) override;
  // A question by POST changes nothing.
  LoggedChanges logged_changes() const override { return LoggedChanges::kNone; }

 private:
  bool IsSpoken();
};

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUESTION_ENDPOINT_H_
