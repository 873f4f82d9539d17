#include "ingest/times/arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace tallyd {
namespace {

constexpr char kVersion = 1;
constexpr size_t kNumberBytes = 8;
// What lies between two spans that are nearer is taken for given, too.
constexpr int64_t kJoinedUs = 60 * kUsPerSecond;
constexpr size_t kKeysAtOnce = 1000;
// In April 2262 clocks of nanoseconds end, and what is built on them goes wrong.
constexpr TimeUs kEndOfClocks = std::numeric_limits<int64_t>::max() / 1000;

void PutNumber(uint64_t number, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

// REQUIRES: so many bytes are there.
uint64_t TakeNumber(std::string_view* bytes) {
  uint64_t number = 0;
  for (const char byte : bytes->substr(0, kNumberBytes)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  bytes->remove_prefix(kNumberBytes);
  return number;
}

std::string KeysOf(std::string_view stream) { return "arrival/" + std::string(stream) + "/"; }

std::string Shown(TimeUs time) {
  if (time < 0) return "a time before 1970";
  return time > kEndOfClocks ? "a time after 2262" : FormatRfc3339(time);
}

Error WrongClock(TimeUs now) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("the daemon's clock is wrong, it says {}; events without a time would "
                           "get that of their arrival, and nothing was stored",
                           Shown(now)));
}

}  // namespace

TimeUs GivenTimes::Give(TimeUs now, int64_t lag_us, size_t count) {
  const auto length = static_cast<int64_t>(count);
  TimeUs first = now;
  if (now <= last_ && last_ - now <= lag_us) first = last_ + 1;
  for (const Span& span : spans_) {
    if (span.first < first + length && span.last >= first) first = span.last + 1;
  }
  Insert({first, first + length - 1});
  last_ = first + length - 1;
  ++given_;
  return first;
}

bool GivenTimes::GiveBack(TimeUs first, TimeUs end, TimeUs last) {
  if (first >= end || last_ != end - 1) return first >= end;
  const auto span = std::ranges::find(spans_, last_, &Span::last);
  if (span == spans_.end()) return false;
  if (span->first >= first) {
    spans_.erase(span);
  } else {
    span->last = first - 1;
  }
  last_ = last;
  return true;
}

// What overlaps or is near becomes one.
void GivenTimes::Insert(Span given) {
  const auto is_near = [](const Span& a, const Span& b) {
    return a.first - b.last <= kJoinedUs && b.first - a.last <= kJoinedUs;
  };
  std::vector<Span> spans;
  for (const Span& span : spans_) {
    if (is_near(span, given)) {
      given = {std::min(span.first, given.first), std::max(span.last, given.last)};
    } else {
      spans.push_back(span);
    }
  }
  spans.insert(std::ranges::upper_bound(spans, given.first, {}, &Span::first), given);
  while (spans.size() > kMaxSpans) {
    size_t nearest = 0;
    for (size_t i = 0; i + 1 < spans.size(); ++i) {
      const auto gap = [&](size_t at) { return spans[at + 1].first - spans[at].last; };
      if (gap(i) < gap(nearest)) nearest = i;
    }
    spans[nearest].last = spans[nearest + 1].last;
    spans.erase(spans.begin() + static_cast<ptrdiff_t>(nearest) + 1);
  }
  spans_ = std::move(spans);
}

// version:u8 given:u64 last:u64 (first:u64 last:u64)*
std::string GivenTimes::Encode() const {
  std::string bytes(1, kVersion);
  PutNumber(given_, &bytes);
  PutNumber(static_cast<uint64_t>(last_), &bytes);
  for (const Span& span : spans_) {
    PutNumber(static_cast<uint64_t>(span.first), &bytes);
    PutNumber(static_cast<uint64_t>(span.last), &bytes);
  }
  return bytes;
}

bool GivenTimes::Add(std::string_view bytes) {
  const bool is_whole = bytes.size() > 2 * kNumberBytes && bytes[0] == kVersion &&
                        (bytes.size() - 1) % (2 * kNumberBytes) == 0;
  if (!is_whole) return false;
  bytes.remove_prefix(1);
  const uint64_t given = TakeNumber(&bytes);
  const auto last = static_cast<TimeUs>(TakeNumber(&bytes));
  while (!bytes.empty()) {
    Span span;
    span.first = static_cast<TimeUs>(TakeNumber(&bytes));
    span.last = static_cast<TimeUs>(TakeNumber(&bytes));
    if (span.first < 0 || span.first > span.last || span.last > kMaxTimeUs) return false;
    Insert(span);
  }
  if (given >= given_) last_ = last;
  given_ = std::max(given_, given);
  return true;
}

Arrivals::OfStream& Arrivals::Of(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  auto found = streams_.find(stream);
  if (found == streams_.end()) {
    found = streams_.emplace(std::string(stream), std::make_unique<OfStream>()).first;
  }
  return *found->second;
}

Status Arrivals::Load(std::string_view stream, OfStream* times) {
  const std::string keys = KeysOf(stream);
  std::string after;
  while (true) {
    const Result<std::vector<Memo>> memos = store_.Memos(keys, kKeysAtOnce, after);
    if (!memos) return memos.error();
    for (const auto& [key, bytes] : *memos) {
      if (!times->given.Add(bytes)) {
        return Error(ErrorCode::kCorruption,
                     fmt::format("which times of arrival stream {} gave cannot be read", stream));
      }
      after = key;
    }
    if (memos->size() < kKeysAtOnce) break;
  }
  times->is_loaded = true;
  return {};
}

Result<TimeUs> ArrivalBlock::Take(size_t count) {
  assert(times_ == nullptr && count > 0);
  const auto last = kMaxTimeUs - static_cast<int64_t>(count);
  if (terms_.now < std::max<TimeUs>(terms_.least, 0) || terms_.now > kEndOfClocks) {
    return WrongClock(terms_.now);
  }
  Arrivals::OfStream& times = arrivals_.Of(stream_);
  const std::lock_guard lock(times.mutex);
  if (!times.is_loaded) {
    if (Status loaded = arrivals_.Load(stream_, &times); !loaded) return loaded.error();
  }
  before_ = times.given.last();
  first_ = times.given.Give(terms_.now, terms_.lag_us, count);
  end_ = first_ + static_cast<int64_t>(count);
  times_ = &times;
  if (first_ > last) return WrongClock(first_);
  return first_;
}

void ArrivalBlock::Note(Batch* batch) {
  if (times_ == nullptr || used_ <= first_) return;
  assert(used_ <= end_ && key_ == SIZE_MAX);
  const std::lock_guard lock(times_->mutex);
  times_->given.GiveBack(used_, end_, used_ - 1);
  const auto free = std::ranges::find(times_->keys, false);
  key_ = static_cast<size_t>(free - times_->keys.begin());
  if (free == times_->keys.end()) {
    times_->keys.push_back(true);
  } else {
    *free = true;
  }
  batch->PutMemo(fmt::format("{}{}", KeysOf(stream_), key_), times_->given.Encode(),
                 NoteOrder::kBefore);
}

ArrivalBlock::~ArrivalBlock() {
  if (times_ == nullptr) return;
  const std::lock_guard lock(times_->mutex);
  if (key_ == SIZE_MAX) {
    times_->given.GiveBack(first_, end_, before_);
  } else {
    times_->keys[key_] = false;
  }
}

}  // namespace tallyd
