// What the endpoints of InfluxDB's paths have in common: they are there while the file has
// [protocols.influx], and all that is refused on them is refused in the form of their dialect.
#ifndef TALLYD_API_INFLUX_INFLUX_ENDPOINT_H_
#define TALLYD_API_INFLUX_INFLUX_ENDPOINT_H_

#include <optional>

#include "api/endpoint/endpoint.h"
#include "api/influx/influx_form.h"
#include "config/schema/protocols.h"

namespace tallyd {

class InfluxEndpoint : public Endpoint {
 public:
  // What derives calls it first, before it looks at protocol().
  std::optional<Response> Admit() override;
  Response Refused(RejectReason reason, Response problem) override;

 protected:
  InfluxEndpoint(Exchange& exchange, InfluxDialect dialect)
      : Endpoint(exchange), dialect_(dialect) {}

  InfluxDialect dialect() const { return dialect_; }
  // The section as it was when the request was admitted. REQUIRES: it was.
  const InfluxConfig& protocol() const { return *protocol_; }

 private:
  // The section in force; nothing: there is none.
  std::optional<InfluxConfig> Find() const;

  const InfluxDialect dialect_;
  std::optional<InfluxConfig> protocol_;
};

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_INFLUX_ENDPOINT_H_
