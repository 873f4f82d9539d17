#include "api/influx/influx_endpoint.h"

#include <utility>

namespace tallyd {

std::optional<InfluxConfig> InfluxEndpoint::Find() const {
  return exchange_.context.snapshot()->schema->protocols.influx;
}

std::optional<Response> InfluxEndpoint::Admit() {
  protocol_ = Find();
  if (protocol_) return std::nullopt;
  return Problem(404,
                 "there is nothing at this path: the configuration has no [protocols.influx]");
}

Response InfluxEndpoint::Refused(RejectReason /*reason*/, Response problem) {
  if (!protocol_ && !Find()) return problem;
  return InInfluxForm(dialect_, std::move(problem));
}

}  // namespace tallyd
