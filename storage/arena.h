// Arena: bytes that stay where they are until Reset. Copies of what a row or a batch views, without
// an allocation each. Not thread-safe.
#ifndef TALLYD_STORAGE_ARENA_H_
#define TALLYD_STORAGE_ARENA_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace tallyd {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    if (bytes.size() > kChunkBytes / 4) {
      large_.push_back(std::make_unique<char[]>(bytes.size()));
      std::memcpy(large_.back().get(), bytes.data(), bytes.size());
      return {large_.back().get(), bytes.size()};
    }
    if (chunk_ == chunks_.size() || used_ + bytes.size() > kChunkBytes) NextChunk();
    char* place = chunks_[chunk_].get() + used_;
    std::memcpy(place, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {place, bytes.size()};
  }

  // Invalidates every copy; keeps a few chunks for the next use.
  void Reset() {
    large_.clear();
    if (chunks_.size() > kKeptChunks) chunks_.resize(kKeptChunks);
    chunk_ = 0;
    used_ = 0;
  }

 private:
  static constexpr size_t kChunkBytes = 64u << 10;
  static constexpr size_t kKeptChunks = 16;

  void NextChunk() {
    if (chunk_ < chunks_.size()) ++chunk_;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<char[]>(kChunkBytes));
    used_ = 0;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::vector<std::unique_ptr<char[]>> large_;
  size_t chunk_ = 0;  // The chunk in use; chunks_.size() before the first.
  size_t used_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_ARENA_H_
