// An API over a LevelDB store in a folder of its own: events go in as JSON, handlers are called as
// functions.
#ifndef TALLYD_TESTS_API_API_WORLD_H_
#define TALLYD_TESTS_API_API_WORLD_H_

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
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
  // `tables` is the part of a configuration that tells streams and tables. Without [ingest] in it
  // any time is taken, so that tests may count from 1970 on.
  explicit ApiWorld(const std::string& tables);
  // Over another store than LevelDB's: what this makes.
  using MakeStore = std::function<std::unique_ptr<Store>(const Clock&)>;
  ApiWorld(const std::string& tables, MakeStore make_store);
  ~ApiWorld();

  // Another configuration takes the place of this one, by a reload or by a restart. False: the
  // store refuses it.
  bool Reload(const std::string& tables);
  bool Restart(const std::string& tables);

  // The answer to POST .../events; a stored batch is committed on return.
  Response Post(const std::string& stream, const std::string& json, const std::string& query = "");
  Response Call(Handler handler, std::vector<std::string> arguments, const std::string& query = "",
                const std::string& accept = "");

  // From now on it is this one who asks.
  void ActAs(PrincipalPtr principal) { principal_ = std::move(principal); }

  const PrincipalPtr& principal() const { return principal_; }

  // What the jobs call: before latest rows are committed, and when there are other nightly tables.
  std::function<void()> before_restore;
  std::function<Status()> refresh;

  // From now on what calls hold counts, and may be so much.
  void LimitMemory(uint64_t bytes) { memory_ = std::make_unique<QueryMemory>(bytes); }
  const QueryMemory& memory() const { return *memory_; }

  ApiContext& context() { return *context_; }
  ServerConfig& server() { return server_; }
  FixedClock& clock() { return clock_; }

 private:
  void Open();
  void Close();

  const MakeStore make_store_;  // Null: LevelDB's.
  std::string path_;
  FixedClock clock_;
  PrincipalPtr principal_ = Anybody();
  std::unique_ptr<QueryMemory> memory_;  // Null: nothing counts.
  // Anew for each start, as the store and its metrics are.
  std::unique_ptr<prometheus::Registry> registry_;
  ServerConfig server_;
  std::unique_ptr<ApiMetrics> metrics_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ApiContext> context_;
};

// The whole body, sources drained.
std::string BodyOf(Response response);

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_API_WORLD_H_
