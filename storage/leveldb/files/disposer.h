// Disposer: takes what its last holder has let go of, and lets it go where that may take time. To
// close, unlink and fsync files is the sealer's work; whoever held them last may be a reader, or
// hold a lock that every query takes. Thread-safe. Outlives what it watches.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_DISPOSER_H_
#define TALLYD_STORAGE_LEVELDB_FILES_DISPOSER_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tallyd {

class Disposer {
 public:
  // The same object: when nobody holds what is returned, the disposer has it.
  template <class T>
  std::shared_ptr<T> Watch(std::shared_ptr<T> held) {
    T* const object = held.get();
    return {object, [this, held = std::move(held)](T*) mutable { Take(std::move(held)); }};
  }

  // Destroys, on this thread, what was taken so far.
  void Dispose() {
    std::vector<std::shared_ptr<const void>> taken;
    const std::lock_guard lock(mutex_);
    taken.swap(taken_);
  }

 private:
  void Take(std::shared_ptr<const void> object) {
    const std::lock_guard lock(mutex_);
    taken_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> taken_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_DISPOSER_H_
