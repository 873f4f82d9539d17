#include "api/opentsdb/opentsdb_endpoint.h"

#include <utility>

#include "api/opentsdb/opentsdb_error.h"

namespace tallyd {

std::optional<OpenTsdbConfig> OpenTsdbEndpoint::Find() const {
  return exchange_.context.snapshot()->schema->protocols.opentsdb;
}

std::optional<Response> OpenTsdbEndpoint::Admit() {
  protocol_ = Find();
  if (protocol_) return std::nullopt;
  return Problem(404,
                 "there is nothing at this path: the configuration has no [protocols.opentsdb]");
}

Response OpenTsdbEndpoint::Refused(RejectReason /*reason*/, Response problem) {
  if (!protocol_ && !Find()) return problem;
  return InOpentsdbForm(std::move(problem));
}

}  // namespace tallyd
