#include "api/limits/query_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr uint64_t kScanBytes = 1u << 20;
constexpr uint64_t kSliceBytes = 8u << 20;
constexpr uint64_t kLeastSlice = 128u << 10;

}  // namespace

bool QueryMemory::TryTake(uint64_t bytes) {
  uint64_t held = held_.load(std::memory_order_relaxed);
  while (bytes <= limit_ && held <= limit_ - bytes) {
    if (held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed)) return true;
  }
  return false;
}

void QueryMemory::GiveBack(uint64_t bytes) {
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  given_back_.fetch_add(bytes, std::memory_order_relaxed);
}

bool QueryMemory::TryTakeInTurn(const ReadMemory* read, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(waiting_, read) == waiting_.end()) {
    waiting_.push_back(read);
    ++waiting_count_;
  }
  if (waiting_.front() != read || !TryTake(bytes)) return false;
  waiting_.pop_front();
  --waiting_count_;
  return true;
}

void QueryMemory::Leave(const ReadMemory* read) {
  const std::lock_guard lock(mutex_);
  waiting_count_ -= std::erase(waiting_, read);
}

ReadMemory::~ReadMemory() { Trim(); }

bool ReadMemory::Take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t wanted = used_ + bytes;
  if (wanted > reserved_) {
    // Whoever has nothing yet does not overtake those who wait.
    const bool in_turn = reserved_ > 0 || all_.waiting() == 0;
    if (wanted > all_.limit() || !in_turn || !all_.TryTake(wanted - reserved_)) {
      wished_ = wanted;
      lacks_room_ = wanted <= all_.limit();
      return false;
    }
    reserved_ = wanted;
  }
  used_ = wanted;
  return true;
}

void ReadMemory::Give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  GiveBackUnused();
}

void ReadMemory::GiveBackUnused() {
  const uint64_t needed = std::max(used_, sure_);
  if (reserved_ > needed) all_.GiveBack(reserved_ - needed);
  reserved_ = needed;
}

Error ReadMemory::Refusal() const {
  const std::lock_guard lock(mutex_);
  if (wished_ > all_.limit()) {
    return Error(ErrorCode::kUnprocessable,
                 fmt::format("alone this would hold {} bytes or more, and server.query_memory is "
                             "{}; ask for a shorter time, fewer fields, fewer groups or a longer "
                             "step, or for a smaller page by limit",
                             wished_, all_.limit()));
  }
  return Error(ErrorCode::kOverloaded,
               fmt::format("the reads that run hold all of server.query_memory, {} bytes: try "
                           "again later",
                           all_.limit()));
}

bool ReadMemory::Admit() {
  const std::lock_guard lock(mutex_);
  const uint64_t wanted = std::max(used_, std::min(2 * wished_, all_.limit()));
  sure_ = 0;
  GiveBackUnused();
  waits_ = !all_.TryTakeInTurn(this, wanted - used_);
  if (waits_) return false;
  sure_ = reserved_ = wanted;
  lacks_room_ = false;
  return true;
}

void ReadMemory::Trim() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(waits_, false)) all_.Leave(this);
  lacks_room_ = false;
  sure_ = 0;
  GiveBackUnused();
}

bool MemoryCharge::Grow(uint64_t bytes) {
  const uint64_t grown = (bytes + kGrain - 1) / kGrain * kGrain;
  if (!memory_->Take(grown - charged_)) return false;
  charged_ = grown;
  return true;
}

void MemoryCharge::Clear() {
  if (memory_ != nullptr && charged_ > 0) memory_->Give(charged_);
  charged_ = 0;
}

uint64_t BytesOfScan(const ReadMemory* memory) {
  return memory == nullptr ? kScanBytes : std::min(kScanBytes, memory->limit() / 16);
}

uint64_t BytesOfSlice(const ReadMemory* memory) {
  if (memory == nullptr) return kSliceBytes;
  return std::clamp(memory->limit() / 32, kLeastSlice, kSliceBytes);
}

uint64_t BytesOfPage(const ReadMemory* memory) {
  return memory == nullptr ? kPageBytes : std::min(kPageBytes, memory->limit() / 4);
}

}  // namespace tallyd
