// ServiceWatch: whether the service answers, by the last look at it, and why not. The log has a
// line for each change. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_SERVICE_WATCH_H_
#define TALLYD_STORAGE_BIGTABLE_SERVICE_WATCH_H_

#include <mutex>
#include <string>

#include "config/values/result.h"

namespace tallyd {

class ServiceWatch {
 public:
  // How a look ended: it is kept until the next.
  void Tell(const Status& looked);
  // Empty: it answers. Before the first look it is away.
  std::string Why() const;
  bool IsAway() const;

 private:
  mutable std::mutex mutex_;
  std::string why_ = "Bigtable was not asked yet";  // Guarded by mutex_, like the next.
  bool has_looked_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_SERVICE_WATCH_H_
