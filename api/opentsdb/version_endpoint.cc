#include "api/opentsdb/version_endpoint.h"

#include "api/opentsdb/opentsdb_endpoint.h"
#include "ingest/text/json.h"

namespace tallyd {
namespace {

class VersionEndpoint final : public OpenTsdbEndpoint {
 public:
  explicit VersionEndpoint(Exchange& exchange) : OpenTsdbEndpoint(exchange) {}

  boost::asio::awaitable<Response> Answer() override {
    const Json version = {{"version", kSpokenOpenTsdb},
                          {"short_revision", ""},
                          {"full_revision", "tallyd " + context().version},
                          {"repo_status", "MINT"},
                          {"timestamp", ""},
                          {"user", ""},
                          {"host", ""},
                          {"repo", "tallyd"}};
    co_return Response::Of(200, version);
  }
};

}  // namespace

std::unique_ptr<Endpoint> MakeOpenTsdbVersion(Exchange& exchange) {
  return std::make_unique<VersionEndpoint>(exchange);
}

}  // namespace tallyd
