#include "api/removal/commit.h"

#include <future>

namespace tallyd {

Status CommitAndWait(Store& store, std::unique_ptr<Batch> batch) {
  auto committed = std::make_shared<std::promise<Status>>();
  std::future<Status> fate = committed->get_future();
  store.Submit(std::move(batch),
               [committed](Status status) { committed->set_value(std::move(status)); });
  return fate.get();
}

}  // namespace tallyd
