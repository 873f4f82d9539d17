// One proposal tried with the sample on a store of its own, in a directory that is there only
// meanwhile. Blocks; one at a time.
#ifndef TALLYD_TOOLS_ADVISE_TRIAL_H_
#define TALLYD_TOOLS_ADVISE_TRIAL_H_

#include <string>

#include "storage/leveldb/tools/toolbox.h"
#include "tools/advise/proposal.h"
#include "tools/advise/sample.h"

namespace tallyd {

// A directory for scratch, removed with all that is in it when this goes.
class ScratchDirectory {
 public:
  static Result<std::string> Make();
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

struct TrialResult {
  std::string pattern;
  std::string refused;         // Why the pattern cannot hold the sample; nothing is measured then.
  double bytes_per_event = 0;  // On disk, sealed and compacted.
  double events_per_s = 0;     // Written, each batch synced.
  // Medians of several. One entity, all of its events; the table of latest values has one.
  double entity_range_ms = 0;
  // The newest values of all entities; a table of history is read whole for that.
  double latest_ms = 0;
};

// `progress` counts the bytes sent, and ends the trial by kCancelled. An event that the pattern
// cannot hold is named by file and line in `refused`.
Result<TrialResult> RunTrial(const AdviseSubject& subject, const Sample& sample,
                             const Proposal& proposal, const std::string& scratch,
                             ToolProgress* progress);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_ADVISE_TRIAL_H_
