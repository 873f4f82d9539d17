// An API over a LevelDB store in a folder of its own: events go in as JSON, handlers are called as
// functions.
#ifndef TALLYD_TESTS_API_API_WORLD_H_
#define TALLYD_TESTS_API_API_WORLD_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/handlers.h"
#include "api/routes/ingest.h"

namespace tallyd {

class FixedClock final : public Clock {
 public:
  TimeUs Now() const override { return now; }
  int64_t SteadyUs() const override { return 0; }
  TimeUs now = 1'700'000'000'000'000;
};

class ApiWorld {
 public:
  // `tables` is the part of a configuration that tells streams and tables.
  explicit ApiWorld(const std::string& tables);
  ~ApiWorld();

  // The answer to POST .../events; a stored batch is committed on return.
  Response Post(const std::string& stream, const std::string& json, const std::string& query = "");
  Response Call(Handler handler, std::vector<std::string> arguments, const std::string& query = "",
                const std::string& accept = "");

  ApiContext& context() { return *context_; }
  FixedClock& clock() { return clock_; }

 private:
  std::string path_;
  FixedClock clock_;
  prometheus::Registry registry_;
  ServerConfig server_;
  ApiMetrics metrics_{registry_};
  std::unique_ptr<Store> store_;
  std::unique_ptr<ApiContext> context_;
};

// The whole body, sources drained.
std::string BodyOf(Response response);

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_API_WORLD_H_
