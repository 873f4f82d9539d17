// BlockPartCache: parts of block files as they are stored, by where they begin. In shares, each
// with a lock and a part of the bound of its own: scans on several threads look for two parts a
// block, and would sleep on one lock. What is larger than a share's bound is not kept. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_PART_CACHE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_PART_CACHE_H_

#include <boost/container_hash/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "storage/leveldb/files/bounded_cache.h"

namespace tallyd {

using BytesPtr = std::shared_ptr<const std::string>;

// Where a part of a file begins.
struct FilePlace {
  uint64_t file = 0;
  uint64_t offset = 0;
  friend bool operator==(const FilePlace&, const FilePlace&) = default;
  struct Hash {
    size_t operator()(const FilePlace& place) const {
      size_t seed = 0;
      boost::hash_combine(seed, place.file);
      boost::hash_combine(seed, place.offset);
      return seed;
    }
  };
};

class BlockPartCache {
 public:
  explicit BlockPartCache(size_t bytes) {
    for (size_t share = 0; share < kShares; ++share) shares_.emplace_back(bytes / kShares);
  }

  // Null: it is not here.
  BytesPtr Find(const FilePlace& place) { return ShareOf(place).Find(place); }
  void Put(const FilePlace& place, BytesPtr bytes) {
    const size_t charge = bytes->size() + kOverhead;
    ShareOf(place).Put(place, std::move(bytes), charge);
  }
  void Erase(const FilePlace& place) { ShareOf(place).Erase(place); }

 private:
  using Share = BoundedCache<std::string, FilePlace, FilePlace::Hash>;
  static constexpr size_t kShares = 16;
  static constexpr size_t kOverhead = 160;  // Of a part, beside its bytes.

  // By the highest bits: a share's map goes by others.
  Share& ShareOf(const FilePlace& place) {
    return shares_[FilePlace::Hash()(place) * uint64_t{0x9e3779b97f4a7c15} >> 60];
  }

  std::deque<Share> shares_;  // Whose locks do not move.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_PART_CACHE_H_
