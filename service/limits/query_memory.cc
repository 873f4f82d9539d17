#include "service/limits/query_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/scan.h"

namespace tallyd {
namespace {

constexpr uint64_t kScanBytes = 1u << 20;
constexpr uint64_t kSliceBytes = 8u << 20;
constexpr uint64_t kLeastSlice = 256u << 10;

}  // namespace

// Who waits for its own principal to give back keeps nobody else waiting.
bool QueryMemory::IsBefore(const Waiting& other) const {
  return bytes_.HasRoomInShare(other.share, other.least);
}

bool QueryMemory::NobodyIsBefore(const ReadMemory* read) {
  if (waiting() == 0) return true;
  const std::lock_guard lock(mutex_);
  return std::none_of(waiting_.begin(), waiting_.end(), [&](const Waiting& other) {
    return other.share == read->share_.get() || IsBefore(other);
  });
}

std::optional<uint64_t> QueryMemory::TryTakeInTurn(const ReadMemory* read, bool is_new,
                                                   const Wish& wish) {
  SharedBytes::Share* const share = read->share_.get();
  const std::lock_guard lock(mutex_);
  if (is_new) {
    waiting_.push_back({read, share, wish.least});
    ++waiting_count_;
  }
  const auto mine = std::find_if(waiting_.begin(), waiting_.end(),
                                 [read](const Waiting& one) { return one.read == read; });
  const bool in_turn = std::none_of(waiting_.begin(), mine, [&](const Waiting& other) {
    return other.share == share || IsBefore(other);
  });
  if (!in_turn) return std::nullopt;
  const uint64_t room = bytes_.Room(share);
  const uint64_t given = std::clamp(room, wish.least, wish.most);
  if (!bytes_.TryTake(share, given)) return std::nullopt;
  waiting_.erase(mine);
  --waiting_count_;
  return given;
}

void QueryMemory::Leave(const ReadMemory* read) {
  const std::lock_guard lock(mutex_);
  waiting_count_ -=
      std::erase_if(waiting_, [read](const Waiting& one) { return one.read == read; });
}

ReadMemory::~ReadMemory() { Trim(); }

std::optional<uint64_t> ReadMemory::Take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t wanted = used_ + bytes;
  if (wanted > reserved_) {
    // Whoever has nothing yet does not overtake those who wait.
    const bool in_turn = reserved_ > 0 || all_.NobodyIsBefore(this);
    if (wanted > limit()) return wanted;
    if (!in_turn || !all_.bytes_.TryTake(share_.get(), wanted - reserved_)) {
      wished_ = lacks_room_ ? std::max(wished_, wanted) : wanted;
      lacks_room_ = true;
      return wanted;
    }
    reserved_ = wanted;
  }
  used_ = wanted;
  return std::nullopt;
}

void ReadMemory::Give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  GiveBackUnused();
}

void ReadMemory::GiveBackUnused() {
  const uint64_t needed = std::max(used_, sure_);
  if (reserved_ > needed) all_.bytes_.GiveBack(share_.get(), reserved_ - needed);
  reserved_ = needed;
}

Error ReadMemory::Refusal(uint64_t bytes) const {
  const uint64_t most = limit();
  const std::string_view of_one = most < all_.limit() ? "half of " : "";
  if (bytes > most) {
    return Error(ErrorCode::kUnprocessable,
                 fmt::format("alone this would hold {} bytes or more, and {}server.query_memory is "
                             "{}; ask for a shorter time, fewer fields, fewer groups or a longer "
                             "step, or for a smaller page by limit",
                             bytes, of_one, most));
  }
  return Error(ErrorCode::kOverloaded,
               fmt::format("the reads that run hold all of {}server.query_memory, {} bytes: try "
                           "again later",
                           of_one, most))
      .RetryAfter(all_.bytes_.RetryAfterSeconds(std::chrono::steady_clock::now()));
}

bool ReadMemory::Admit() {
  const std::lock_guard lock(mutex_);
  sure_ = 0;
  GiveBackUnused();
  const uint64_t least = std::max(used_, wished_);
  const uint64_t most = std::max(least, std::min(2 * wished_, limit()));
  const std::optional<uint64_t> given =
      all_.TryTakeInTurn(this, !waits_, {least - used_, most - used_});
  waits_ = !given;
  if (waits_) return false;
  sure_ = reserved_ = used_ + *given;
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
  if (const std::optional<uint64_t> in_all = memory_->Take(grown - charged_)) {
    refused_ = *in_all;
    return false;
  }
  charged_ = grown;
  return true;
}

void MemoryCharge::Clear() {
  if (memory_ != nullptr && charged_ > 0) memory_->Give(charged_);
  charged_ = 0;
}

uint64_t BytesOfScan(const ReadMemory* memory) {
  return memory == nullptr ? kScanBytes : std::min(kScanBytes, memory->limit() / 32);
}

uint64_t BytesOfRow(const Row& row) {
  uint64_t bytes = row.cells.size() * sizeof(CellView);
  for (const CellView& cell : row.cells) {
    const ValueType type = cell.value.type();
    const bool is_text = type == ValueType::kString || type == ValueType::kBytes;
    if (is_text) bytes += 2 * cell.value.AsView().size();
  }
  return bytes;
}

uint64_t BytesOfSlice(const ReadMemory* memory) {
  if (memory == nullptr) return kSliceBytes;
  return std::clamp(memory->limit() / 32, kLeastSlice, kSliceBytes);
}

uint64_t BytesOfPage(const ReadMemory* memory) {
  return memory == nullptr ? kPageBytes : std::min(kPageBytes, memory->limit() / 4);
}

}  // namespace tallyd
