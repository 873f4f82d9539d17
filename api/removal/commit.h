// A batch of deletes, given to the store and waited for: on query threads, which may block.
#ifndef TALLYD_API_REMOVAL_COMMIT_H_
#define TALLYD_API_REMOVAL_COMMIT_H_

#include <memory>

#include "storage/store.h"

namespace tallyd {

Status CommitAndWait(Store& store, std::unique_ptr<Batch> batch);

}  // namespace tallyd

#endif  // TALLYD_API_REMOVAL_COMMIT_H_
