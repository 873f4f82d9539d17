#include "tests/bigtable/tablet/faults.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>

namespace tallyd::tablet {
namespace {

using grpc::StatusCode;

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

FaultRates FaultRates::All(double chance) {
  FaultRates rates;
  rates.refused_calls = chance;
  rates.lost_answers = chance;
  rates.failed_entries = chance / 4;
  rates.missing_answers = chance;
  rates.broken_streams = chance / 4;
  rates.odd_chunks = chance;
  rates.slow_calls = chance;
  rates.retry_infos = 0.2;
  rates.rate_limits = chance;
  rates.tablet_splits = chance / 4;
  return rates;
}

void Faults::Set(const FaultRates& rates) {
  const std::scoped_lock lock(mutex_);
  rates_ = rates;
}

FaultRates Faults::rates() const {
  const std::scoped_lock lock(mutex_);
  return rates_;
}

void Faults::Script(Decide decide) {
  const std::scoped_lock lock(mutex_);
  decide_ = std::move(decide);
}

Verdict Faults::DecideCall(const Call& call, bool writes) {
  Decide decide;
  {
    const std::scoped_lock lock(mutex_);
    std::string method(call.method);
    counts_[method] += 1;
    if (!call.table.empty()) counts_[method.append(" ").append(LastPart(call.table))] += 1;
    decide = decide_;
  }
  if (decide) {
    Verdict verdict = decide(call);
    if (verdict.outcome != Outcome::kDone) return verdict;
  }
  const std::scoped_lock lock(mutex_);
  static constexpr std::array kCodes = {StatusCode::UNAVAILABLE, StatusCode::DEADLINE_EXCEEDED,
                                        StatusCode::RESOURCE_EXHAUSTED, StatusCode::ABORTED};
  if (HappensLocked(rates_.refused_calls)) {
    const StatusCode code = kCodes[random_() % kCodes.size()];
    counts_["refused"] += 1;
    return {Outcome::kRefused, {code, "a fault of the test: refused"}};
  }
  if (writes && HappensLocked(rates_.lost_answers)) {
    counts_["lost"] += 1;
    return {Outcome::kUnanswered,
            {kCodes[random_() % 2], "a fault of the test: the answer was lost"}};
  }
  return {};
}

Verdict Faults::DecideEntry(const Call& call) {
  Decide decide;
  {
    const std::scoped_lock lock(mutex_);
    counts_[std::string(call.method).append(" ").append(LastPart(call.table))] += 1;
    decide = decide_;
  }
  if (decide) {
    Verdict verdict = decide(call);
    if (verdict.outcome != Outcome::kDone) return verdict;
  }
  const std::scoped_lock lock(mutex_);
  if (!HappensLocked(rates_.failed_entries)) return {};
  counts_["failed_entries"] += 1;
  return {random_() % 2 == 0 ? Outcome::kRefused : Outcome::kUnanswered,
          {StatusCode::UNAVAILABLE, "a fault of the test: the entry failed"}};
}

bool Faults::Happens(double FaultRates::*rate) {
  const std::scoped_lock lock(mutex_);
  return HappensLocked(rates_.*rate);
}

size_t Faults::UpTo(size_t most) {
  const std::scoped_lock lock(mutex_);
  return std::uniform_int_distribution<size_t>(0, most)(random_);
}

unsigned Faults::NewSeed() {
  const std::scoped_lock lock(mutex_);
  return static_cast<unsigned>(random_());
}

void Faults::Sleep() {
  std::chrono::microseconds time;
  {
    const std::scoped_lock lock(mutex_);
    time = rates_.latency;
    if (HappensLocked(rates_.slow_calls)) time += rates_.slow_time;
  }
  if (time.count() > 0) std::this_thread::sleep_for(time);
}

std::map<std::string, uint64_t> Faults::Calls() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

uint64_t Faults::Count(const std::string& what) const {
  const std::scoped_lock lock(mutex_);
  const auto found = counts_.find(what);
  return found == counts_.end() ? 0 : found->second;
}

void Faults::Add(const std::string& what, uint64_t count) {
  const std::scoped_lock lock(mutex_);
  counts_[what] += count;
}

void Faults::Forget() {
  const std::scoped_lock lock(mutex_);
  counts_.clear();
}

void Faults::Enter(const std::vector<std::pair<std::string, std::string>>& rows) {
  const std::scoped_lock lock(mutex_);
  // An entry's own call may have the row twice.
  const std::set<std::pair<std::string, std::string>> own(rows.begin(), rows.end());
  const auto overlaps =
      std::ranges::count_if(own, [&](const auto& row) { return under_way_.contains(row); });
  if (overlaps > 0) counts_["overlaps"] += static_cast<uint64_t>(overlaps);
  under_way_.insert(rows.begin(), rows.end());
}

void Faults::Leave(const std::vector<std::pair<std::string, std::string>>& rows) {
  const std::scoped_lock lock(mutex_);
  for (const auto& row : rows) under_way_.erase(under_way_.find(row));
}

}  // namespace tallyd::tablet
