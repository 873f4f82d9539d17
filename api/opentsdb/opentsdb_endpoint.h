// What the endpoints of OpenTSDB's paths have in common: they are there while the file has
// [protocols.opentsdb], and all that is refused on them is refused in the protocol's form.
#ifndef TALLYD_API_OPENTSDB_OPENTSDB_ENDPOINT_H_
#define TALLYD_API_OPENTSDB_OPENTSDB_ENDPOINT_H_

#include <optional>

#include "api/endpoint/endpoint.h"
#include "config/schema/protocols.h"

namespace tallyd {

class OpenTsdbEndpoint : public Endpoint {
 public:
  // What derives calls it first, before it looks at protocol().
  std::optional<Response> Admit() override;
  Response Refused(RejectReason reason, Response problem) override;

 protected:
  explicit OpenTsdbEndpoint(Exchange& exchange) : Endpoint(exchange) {}

  // The section as it was when the request was admitted. REQUIRES: it was.
  const OpenTsdbConfig& protocol() const { return *protocol_; }

 private:
  // The section in force; nothing: there is none.
  std::optional<OpenTsdbConfig> Find() const;

  std::optional<OpenTsdbConfig> protocol_;
};

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_OPENTSDB_ENDPOINT_H_
