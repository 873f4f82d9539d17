#include "daemon/commit_watch.h"

#include <algorithm>

namespace tallyd {

CommitVerdict CommitWatch::Look(int64_t now_us, int64_t began_us) {
  const int64_t since_us = now_us - looked_us_;
  looked_us_ = now_us;
  if (began_us == 0 || began_us != began_us_) {
    began_us_ = began_us;
    answering_us_ = 0;
    probe_began_us_ = 0;
    return CommitVerdict::kGoesOn;
  }
  if (now_us - began_us < kWaitsAfterUs) return CommitVerdict::kGoesOn;
  if (DiskHangs(now_us)) {
    answering_us_ = 0;
    return CommitVerdict::kDiskHangs;
  }
  answering_us_ += std::min(since_us, kLongestLookUs);
  return answering_us_ >= kStuckAfterUs ? CommitVerdict::kStuck : CommitVerdict::kWaits;
}

// A probe that runs when a commit begins to take long may be one that hung beside an earlier one:
// it is then judged from now on.
bool CommitWatch::DiskHangs(int64_t now_us) {
  const bool is_first = probe_began_us_ == 0;
  if (probe_->IsRunning()) {
    if (is_first) probe_began_us_ = now_us;
    return now_us - probe_began_us_ >= kDiskHangsAfterUs;
  }
  if (is_first || now_us - probe_began_us_ >= kProbeEveryUs) {
    probe_->Begin();
    probe_began_us_ = now_us;
  }
  return false;
}

}  // namespace tallyd
