#include "storage/bigtable/read/row_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr size_t kBytesOfRanges = 400u << 10;  // Bigtable takes requests of 512 KiB.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kLongestCall = std::chrono::hours(1);

void AddRange(const KeyRange& range, data_api::RowSet* rows) {
  const bool is_one_key = range.end.size() == range.start.size() + 1 && range.end.back() == '\0' &&
                          range.end.starts_with(range.start);
  if (is_one_key && !range.start.empty()) {
    rows->add_row_keys(range.start);
    return;
  }
  data_api::RowRange* const added = rows->add_row_ranges();
  if (!range.start.empty()) added->set_start_key_closed(range.start);
  if (!range.end.empty()) added->set_end_key_open(range.end);
}

SteadyTime DeadlineOf(const BigtableClient& client, const ReadLimits& limits) {
  return std::min(limits.deadline, client.NewDeadline());
}

}  // namespace

RowStream::RowStream(BigtableClient* client, RowsQuery query)
    : client_(*client),
      query_(std::move(query)),
      merger_(std::make_unique<ChunkMerger>(query_.reverse)),
      rows_asked_(query_.expected) {
  std::erase_if(query_.ranges, [](const KeyRange& range) {
    return !range.end.empty() && range.end <= range.start;
  });
}

void RowStream::Begin() {
  data_api::ReadRowsRequest request;
  request.set_table_name(query_.table);
  request.set_app_profile_id(client_.config().app_profile);
  if (query_.filter) *request.mutable_filter() = *query_.filter;
  request.set_rows_limit(static_cast<int64_t>(rows_asked_));
  request.set_reversed(query_.reverse);
  size_t bytes = 0;
  ranges_asked_ = 0;
  while (ranges_asked_ < query_.ranges.size() && bytes < kBytesOfRanges) {
    const size_t place =
        query_.reverse ? query_.ranges.size() - 1 - ranges_asked_ : ranges_asked_;
    const KeyRange& range = query_.ranges[place];
    AddRange(range, request.mutable_rows());
    bytes += range.start.size() + range.end.size() + 16;
    ++ranges_asked_;
  }
  rows_came_ = 0;
  is_silent_ = false;
  message_.Clear();
  next_chunk_ = 0;
  const SteadyTime longest = std::chrono::steady_clock::now() + kLongestCall;
  call_ = client_.ReadRows(request, std::min(query_.limits.deadline, longest));
}

Result<bool> RowStream::Next() {
  // Whoever reads slowly has as long for each row.
  Retry retry(client_.ending(), DeadlineOf(client_, query_.limits), query_.limits.cancelled);
  while (true) {
    if (call_ == nullptr) {
      if (query_.ranges.empty()) return false;
      Begin();
    }
    const Result<std::optional<bool>> advanced = Advance();
    if (!advanced) return advanced.error();
    if (*advanced) return **advanced;
    const RpcStatus ended = HowItEnded();
    call_.reset();
    merger_->DropHalfRow();
    if (ended.ok()) {
      if (!GoOnAfterEnd()) return false;
      continue;
    }
    if (rows_came_ > 0) retry.Progress();
    LeaveOutRead();
    if (query_.ranges.empty()) return false;
    if (!retry.MayTryAgain(ended)) return ErrorOfEnd(ended);
  }
}

RpcStatus RowStream::HowItEnded() const {
  if (is_silent_) return {RpcCode::kDeadlineExceeded, "the stream is silent"};
  if (merger_->is_inside() && call_->ended().ok()) {
    return {RpcCode::kUnavailable, "the answer ended within a row"};
  }
  return call_->ended();
}

Result<std::optional<bool>> RowStream::Advance() {
  while (true) {
    while (next_chunk_ < message_.chunks_size()) {
      const Result<bool> complete = merger_->Add(message_.chunks(next_chunk_++));
      if (!complete) return complete.error();
      if (!*complete) continue;
      last_key_ = merger_->row().key;
      ++rows_came_;
      return std::optional<bool>(true);
    }
    if (!message_.last_scanned_row_key().empty()) last_key_ = message_.last_scanned_row_key();
    message_.Clear();
    next_chunk_ = 0;
    const Result<Step> step = AwaitMessage();
    if (!step) return step.error();
    if (*step == Step::kEnded) return std::optional<bool>();
  }
}

Result<RowStream::Step> RowStream::AwaitMessage() {
  const SteadyTime until = std::min(
      query_.limits.deadline, std::chrono::steady_clock::now() +
                                  std::chrono::microseconds(client_.config().attempt_us));
  while (true) {
    if (query_.limits.cancelled != nullptr && *query_.limits.cancelled) {
      return Error(ErrorCode::kCancelled, "nobody waits for the answer any more");
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    const SteadyTime look = query_.limits.cancelled != nullptr ? now + kLook : until;
    const Step step = call_->Await(std::min(until, look), &message_);
    if (step != Step::kWaiting) return step;
    if (std::chrono::steady_clock::now() < until) continue;
    if (query_.limits.deadline <= until) {
      return Error(ErrorCode::kUnavailable, "no answer of Bigtable came within the deadline");
    }
    // A stream that is silent for so long is broken: it is asked for again.
    is_silent_ = true;
    return Step::kEnded;
  }
}

bool RowStream::GoOnAfterEnd() {
  const bool was_cut = rows_asked_ > 0 && rows_came_ >= rows_asked_;
  if (was_cut) {
    constexpr uint64_t kMore = 4;
    rows_asked_ *= kMore;
    LeaveOutRead();
    return !query_.ranges.empty();
  }
  const auto asked = static_cast<std::ptrdiff_t>(ranges_asked_);
  if (query_.reverse) {
    query_.ranges.erase(query_.ranges.end() - asked, query_.ranges.end());
  } else {
    query_.ranges.erase(query_.ranges.begin(), query_.ranges.begin() + asked);
  }
  return !query_.ranges.empty();
}

void RowStream::LeaveOutRead() {
  if (!last_key_.empty()) Cut(last_key_, true);
}

void RowStream::SkipTo(const std::string& key) {
  call_.reset();
  merger_->DropHalfRow();
  LeaveOutRead();
  Cut(key, false);
}

// What lies before the key goes, and the key with it where it was read.
void RowStream::Cut(const std::string& key, bool with_key) {
  std::vector<KeyRange>& ranges = query_.ranges;
  if (query_.reverse) {
    const std::string end = with_key ? key : key + '\0';
    std::erase_if(ranges, [&](const KeyRange& range) { return range.start >= end; });
    for (KeyRange& range : ranges) {
      if (range.end.empty() || range.end > end) range.end = end;
    }
    return;
  }
  const std::string start = with_key ? key + '\0' : key;
  std::erase_if(ranges,
                [&](const KeyRange& range) { return !range.end.empty() && range.end <= start; });
  for (KeyRange& range : ranges) range.start = std::max(range.start, start);
}

Error RowStream::ErrorOfEnd(const RpcStatus& ended) const {
  const Error error = ErrorOf(ended, query_.table.substr(query_.table.rfind('/') + 1));
  const bool is_too_large = ended.code == RpcCode::kFailedPrecondition &&
                            ended.message.find("exceeds the limit") != std::string::npos;
  if (is_too_large) return Error(ErrorCode::kUnprocessable, error.message());
  const bool is_over = std::chrono::steady_clock::now() >= query_.limits.deadline;
  if (query_.limits.cancelled != nullptr && *query_.limits.cancelled) {
    return Error(ErrorCode::kCancelled, "nobody waits for the answer any more");
  }
  return is_over ? Error(ErrorCode::kUnavailable, error.message()) : error;
}

}  // namespace tallyd
