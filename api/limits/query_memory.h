// QueryMemory: what all reads that run may hold together (server.query_memory): rows that are
// merged or sorted, pages, accumulators, chunks that wait for slow readers. ReadMemory is the part
// of one request; MemoryCharge what one holder of it has, by the chunk.
//
//   MemoryCharge charge(request.memory);
//   if (!charge.Covers(page.bytes())) return charge.refusal();
//
// Nobody waits while holding anything. A read for which there is no room fails, and its
// ReadMemory remembers how much it lacked: whoever runs it lets go of all of it, waits until Admit
// has made so much sure for it, in the order in which reads came, and runs it again. A read that
// alone would hold more than there is fails with kUnprocessable, and there is nothing to wait for.
//
// All thread-safe but MemoryCharge, which is of one holder.
#ifndef TALLYD_API_LIMITS_QUERY_MEMORY_H_
#define TALLYD_API_LIMITS_QUERY_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "config/values/result.h"

namespace tallyd {

class ReadMemory;

class QueryMemory {
 public:
  explicit QueryMemory(uint64_t limit) : limit_(limit) {}
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  uint64_t limit() const { return limit_; }
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  uint64_t waiting() const { return waiting_count_.load(std::memory_order_relaxed); }
  // Ever.
  uint64_t given_back() const { return given_back_.load(std::memory_order_relaxed); }

 private:
  friend class ReadMemory;
  bool TryTake(uint64_t bytes);
  void GiveBack(uint64_t bytes);
  bool TryTakeInTurn(const ReadMemory* read, uint64_t bytes);
  void Leave(const ReadMemory* read);

  const uint64_t limit_;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> given_back_{0};
  std::atomic<size_t> waiting_count_{0};
  std::mutex mutex_;
  std::deque<const ReadMemory*> waiting_;  // Guarded by mutex_; whoever came first is first.
};

class ReadMemory {
 public:
  explicit ReadMemory(QueryMemory& all) : all_(all) {}
  ~ReadMemory();
  ReadMemory(const ReadMemory&) = delete;
  ReadMemory& operator=(const ReadMemory&) = delete;

  uint64_t limit() const { return all_.limit(); }

  // False: there is no room now (lacks_room()), or never.
  bool Take(uint64_t bytes);
  void Give(uint64_t bytes);
  // Why the last Take failed: kUnprocessable or kOverloaded.
  Error Refusal() const;
  bool lacks_room() const { return lacks_room_.load(std::memory_order_relaxed); }

  // Makes sure what the read lacked, and as much again as it then had, when it is its turn and
  // there is room: then it may run again. Whoever asks has let go of what can be found again.
  bool Admit();
  // Gives back what was made sure and is not used, and no longer waits.
  void Trim();

 private:
  void GiveBackUnused();  // REQUIRES: mutex_.

  QueryMemory& all_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;      // Guarded by mutex_, like all below.
  uint64_t sure_ = 0;      // By Admit, until Trim.
  uint64_t reserved_ = 0;  // The greater of both.
  uint64_t wished_ = 0;    // In all, by the Take that failed.
  bool waits_ = false;
  std::atomic<bool> lacks_room_{false};
};

using ReadMemoryPtr = std::shared_ptr<ReadMemory>;

class MemoryCharge {
 public:
  // Null: nothing is counted, everything is covered.
  MemoryCharge() = default;
  explicit MemoryCharge(ReadMemoryPtr memory) : memory_(std::move(memory)) {}
  ~MemoryCharge() { Clear(); }
  MemoryCharge(MemoryCharge&& other) noexcept
      : memory_(std::move(other.memory_)), charged_(std::exchange(other.charged_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(charged_, other.charged_);
    return *this;
  }

  // Whether the holder may have so many bytes in all.
  bool Covers(uint64_t bytes) { return bytes <= charged_ || memory_ == nullptr || Grow(bytes); }
  void Clear();
  Error refusal() const { return memory_->Refusal(); }
  const ReadMemoryPtr& memory() const { return memory_; }

 private:
  static constexpr uint64_t kGrain = 64u << 10;
  bool Grow(uint64_t bytes);

  ReadMemoryPtr memory_;
  uint64_t charged_ = 0;
};

// What a scan of the store holds beside what it gives: blocks and columns that are decoded.
uint64_t BytesOfScan(const ReadMemory* memory);
// What one holder sorts or merges at a time: reads share what there is, and a small part of it does
// for each.
uint64_t BytesOfSlice(const ReadMemory* memory);
// A page that is held in memory ends early, with a cursor, where it would exceed this: at most
// kPageBytes, or a quarter of what there is.
inline constexpr uint64_t kPageBytes = 64u << 20;
uint64_t BytesOfPage(const ReadMemory* memory);

}  // namespace tallyd

#endif  // TALLYD_API_LIMITS_QUERY_MEMORY_H_
