#include "storage/store.h"

#include <future>

namespace tallyd {

// The promise is shared: the committer's thread may still be in it when the waiter has gone on.
Status WaitForCommit(const std::function<void(CommitDone)>& submit) {
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> committed = result->get_future();
  submit([result](Status status) { result->set_value(std::move(status)); });
  return committed.get();
}

}  // namespace tallyd
