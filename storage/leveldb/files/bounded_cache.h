// BoundedCache: of things by key those that were used last, as far as their charges stay within the
// bound: of them all, where LevelDB's cache has sixteen parts with a bound each, so that what is
// larger than one is as good as not kept. What somebody holds outlives its place here. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BOUNDED_CACHE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BOUNDED_CACHE_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace tallyd {

template <class T, class Key = uint64_t, class Hash = boost::hash<Key>>
class BoundedCache {
 public:
  using Ptr = std::shared_ptr<const T>;
  explicit BoundedCache(size_t bound) : bound_(bound) {}

  // Null: it is not here.
  Ptr Find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    things_.splice(things_.begin(), things_, found->second);
    return found->second->thing;
  }

  void Put(const Key& key, Ptr thing, size_t charge) {
    std::list<Thing> gone;  // Freed after the lock.
    const std::lock_guard lock(mutex_);
    Take(key, &gone);
    if (charge > bound_) return;
    while (charge_ > bound_ - charge) Take(Key(things_.back().key), &gone);
    things_.push_front({key, std::move(thing), charge});
    places_[key] = things_.begin();
    charge_ += charge;
  }

  void Erase(const Key& key) {
    std::list<Thing> gone;
    const std::lock_guard lock(mutex_);
    Take(key, &gone);
  }

 private:
  struct Thing {
    Key key{};
    Ptr thing;
    size_t charge = 0;
  };

  void Take(const Key& key, std::list<Thing>* to) {  // REQUIRES: mutex_.
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    charge_ -= found->second->charge;
    to->splice(to->begin(), things_, found->second);
    places_.erase(found);
  }

  const size_t bound_;
  std::mutex mutex_;
  std::list<Thing> things_;  // Guarded by mutex_, like the next two; the one used last first.
  boost::unordered_flat_map<Key, typename std::list<Thing>::iterator, Hash> places_;
  size_t charge_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BOUNDED_CACHE_H_
