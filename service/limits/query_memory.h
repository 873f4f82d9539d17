// QueryMemory: what all reads that run may hold together (server.query_memory): rows that are
// merged or sorted, pages, accumulators, chunks that wait for slow readers. ReadMemory is the part
// of one request; MemoryCharge what one holder of it has, by the chunk. Of several principals none
// holds more than half (shared_bytes.h), and that is then all there is for it.
//
//   MemoryCharge charge(request.memory);
//   if (!charge.Covers(page.bytes())) return charge.refusal();
//
// A read for which there is no room fails, and its ReadMemory remembers how much it lacked: whoever
// runs it lets go of all that can be found again, waits until Admit has made so much sure for it,
// in the order in which reads came, but for those whose principal has its half already, and runs it
// again. So those who wait hold next to nothing, and
// none for ever: whoever runs them gives up in time. A read that alone would hold more than there
// is fails with kUnprocessable, and there is nothing to wait for.
//
// All thread-safe but MemoryCharge, which is of one holder. The QueryMemory outlives the reads.
#ifndef TALLYD_SERVICE_LIMITS_QUERY_MEMORY_H_
#define TALLYD_SERVICE_LIMITS_QUERY_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "config/values/result.h"
#include "service/limits/shared_bytes.h"

namespace tallyd {

class ReadMemory;
struct Row;

class QueryMemory {
 public:
  explicit QueryMemory(uint64_t limit) : bytes_(limit) {}
  QueryMemory(const QueryMemory&) = delete;
  QueryMemory& operator=(const QueryMemory&) = delete;

  uint64_t limit() const { return bytes_.limit(); }
  uint64_t held() const { return bytes_.held(); }
  uint64_t waiting() const { return waiting_count_.load(std::memory_order_relaxed); }
  // Ever.
  uint64_t given_back() const { return bytes_.given_back(); }
  // How many there are.
  void SetPrincipals(size_t count) { bytes_.SetPrincipals(count); }
  // About once a second, so that it is known when there will be room.
  void Sample(DrainRate::Time now) { bytes_.Sample(now); }

 private:
  friend class ReadMemory;
  struct Wish {
    uint64_t least = 0;
    uint64_t most = 0;
  };
  struct Waiting {
    const ReadMemory* read = nullptr;
    const SharedBytes::Share* share = nullptr;
    uint64_t least = 0;  // Of what it wishes.
  };
  // Who comes for the first time waits behind the others. What the first of them is given, of what
  // it wishes: it waits no longer then. Nothing: there is not so much, or it is not its turn.
  std::optional<uint64_t> TryTakeInTurn(const ReadMemory* read, bool is_new, const Wish& wish);
  // Whether nobody waits who could have room that is given back now.
  bool NobodyIsBefore(const ReadMemory* read);
  bool IsBefore(const Waiting& other) const;  // REQUIRES: mutex_.
  void Leave(const ReadMemory* read);

  SharedBytes bytes_;
  std::atomic<size_t> waiting_count_{0};
  std::mutex mutex_;
  std::deque<Waiting> waiting_;  // Guarded by mutex_; whoever came first is first.
};

class ReadMemory {
 public:
  explicit ReadMemory(QueryMemory& all, std::string_view principal = {})
      : all_(all), share_(all.bytes_.ShareOf(principal)) {}
  ~ReadMemory();
  ReadMemory(const ReadMemory&) = delete;
  ReadMemory& operator=(const ReadMemory&) = delete;

  uint64_t limit() const { return all_.bytes_.LimitOf(share_.get()); }

  // Nothing: the bytes are the read's. Else what it would hold in all, for which there is no room
  // now, or never.
  std::optional<uint64_t> Take(uint64_t bytes);
  void Give(uint64_t bytes);
  // Why a Take failed that would have made it so many bytes: kUnprocessable or kOverloaded.
  Error Refusal(uint64_t bytes) const;
  // Whether there was no room for a part of it since it was admitted or trimmed.
  bool lacks_room() const { return lacks_room_.load(std::memory_order_relaxed); }

  // Makes sure what the read lacked, and up to twice as much of what there is, when it is its turn:
  // then it may run again. Whoever asks has let go of what can be found again.
  bool Admit();
  // Gives back what was made sure and is not used, and no longer waits.
  void Trim();

 private:
  friend class QueryMemory;
  void GiveBackUnused();  // REQUIRES: mutex_.

  QueryMemory& all_;
  const SharedBytes::SharePtr share_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;      // Guarded by mutex_, like all below.
  uint64_t sure_ = 0;      // By Admit, until Trim.
  uint64_t reserved_ = 0;  // The greater of both.
  uint64_t wished_ = 0;    // In all, by what lacked room.
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
      : memory_(std::move(other.memory_)),
        charged_(std::exchange(other.charged_, 0)),
        refused_(other.refused_) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(charged_, other.charged_);
    std::swap(refused_, other.refused_);
    return *this;
  }

  // Whether the holder may have so many bytes in all.
  bool Covers(uint64_t bytes) { return bytes <= charged_ || memory_ == nullptr || Grow(bytes); }
  void Clear();
  // REQUIRES: Covers has returned false.
  Error refusal() const { return memory_->Refusal(refused_); }
  const ReadMemoryPtr& memory() const { return memory_; }

 private:
  static constexpr uint64_t kGrain = 16u << 10;
  bool Grow(uint64_t bytes);

  ReadMemoryPtr memory_;
  uint64_t charged_ = 0;
  uint64_t refused_ = 0;  // What the read would have held when it was told so last.
};

// What a scan of the store holds beside what it gives: blocks and columns that are decoded.
uint64_t BytesOfScan(const ReadMemory* memory);
// What a row takes: its cells, with text as it is stored and once more as theirs.
uint64_t BytesOfRow(const Row& row);
// What one holder sorts or merges at a time: reads share what there is, and a small part of it does
// for each.
uint64_t BytesOfSlice(const ReadMemory* memory);
// A page that is held in memory ends early, with a cursor, where it would exceed this: at most
// kPageBytes, or a quarter of what there is.
inline constexpr uint64_t kPageBytes = 64u << 20;
uint64_t BytesOfPage(const ReadMemory* memory);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_QUERY_MEMORY_H_
