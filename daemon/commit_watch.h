// CommitWatch: judges a store by how long it has been at one commit, and the disk by a small write
// of its own:
//
//   kGoesOn     it commits, or has nothing to commit
//   kWaits      one commit takes long: the daemon is not ready, and may become so by itself
//   kDiskHangs  the disk does not answer another write, either: a restart would wait for it as well
//   kStuck      the disk has answered for as long as kStuckAfterUs, and the commit still does not
//               end: nothing but a restart helps
//
//   CommitWatch watch(&probe);
//   Verdict v = watch.Look(CommitProgress::NowUs(), progress.began_us());  // Once a second.
//
// How long the disk has answered is added up from look to look, so that a process that was stopped,
// or got no processor, is not taken for one that was stuck. For one thread.
#ifndef TALLYD_DAEMON_COMMIT_WATCH_H_
#define TALLYD_DAEMON_COMMIT_WATCH_H_

#include <cstdint>

namespace tallyd {

// Whether the disk answers: a write and an fsync beside the store's own.
class DiskProbe {
 public:
  virtual ~DiskProbe() = default;
  // Returns at once. REQUIRES: none is running.
  virtual void Begin() = 0;
  // Until the disk has answered, be it with an error.
  virtual bool IsRunning() const = 0;
};

enum class CommitVerdict : uint8_t { kGoesOn, kWaits, kDiskHangs, kStuck };

class CommitWatch {
 public:
  static constexpr int64_t kWaitsAfterUs = 3'000'000;
  static constexpr int64_t kStuckAfterUs = 30'000'000;
  static constexpr int64_t kProbeEveryUs = 5'000'000;
  static constexpr int64_t kDiskHangsAfterUs = 2'000'000;  // Of a probe.
  static constexpr int64_t kLongestLookUs = 2'000'000;     // What one look adds, at most.

  // The probe outlives it.
  explicit CommitWatch(DiskProbe* probe) : probe_(probe) {}

  // `began_us`: when the commit that runs began; 0: none runs. Both of the steady clock.
  CommitVerdict Look(int64_t now_us, int64_t began_us);

 private:
  bool DiskHangs(int64_t now_us);

  DiskProbe* const probe_;
  int64_t began_us_ = 0;        // Of the commit that was seen last.
  int64_t looked_us_ = 0;       // When that was.
  int64_t answering_us_ = 0;    // How long the disk has answered beside it.
  int64_t probe_began_us_ = 0;  // 0: no probe beside it yet.
};

}  // namespace tallyd

#endif  // TALLYD_DAEMON_COMMIT_WATCH_H_
