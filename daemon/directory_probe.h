// DirectoryProbe: writes a few bytes to a file without a name in a directory, and has them synced.
// Where the file system knows no such files, it syncs the directory.
//
// A thread of its own waits for the disk, which may take forever: whoever has begun a probe may go
// away before it ends. Begin and IsRunning are for one thread.
#ifndef TALLYD_DAEMON_DIRECTORY_PROBE_H_
#define TALLYD_DAEMON_DIRECTORY_PROBE_H_

#include <atomic>
#include <memory>
#include <string>

#include "daemon/commit_watch.h"

namespace tallyd {

class DirectoryProbe final : public DiskProbe {
 public:
  explicit DirectoryProbe(std::string directory) : directory_(std::move(directory)) {}

  void Begin() override;
  bool IsRunning() const override { return *is_running_; }

 private:
  const std::string directory_;
  const std::shared_ptr<std::atomic<bool>> is_running_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace tallyd

#endif  // TALLYD_DAEMON_DIRECTORY_PROBE_H_
