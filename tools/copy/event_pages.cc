#include "tools/copy/event_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/text/percent.h"
#include "tools/transfer/export_plan.h"

namespace tallyd {
namespace {

constexpr uint64_t kFirstEvents = 1000;
constexpr uint64_t kMostEvents = 20'000;
constexpr uint64_t kPageAim = 4u << 20;  // Bytes.
constexpr uint64_t kMostGrowth = 4;
constexpr int64_t kGrowth = 2;
constexpr int64_t kGrowthOfEmpty = 4;
constexpr int64_t kWidest = kMaxTimeUs + 1;

}  // namespace

EventPages::EventPages(const PatientClient& client, EventSource source, PagePlace place)
    : client_(client), source_(std::move(source)), place_(std::move(place)), limit_(kFirstEvents) {
  if (place_.at < source_.time.from) place_ = {source_.time.from, place_.width_us, {}};
}

Result<bool> EventPages::Next(CopiedPage* page) {
  page->body.clear();
  page->events.clear();
  if (place_.at >= source_.time.to) return false;
  const TimeUs left = source_.time.to - place_.at;
  const TimeUs end = place_.width_us < left ? place_.at + place_.width_us : source_.time.to;
  std::string path = place_.next;
  if (path.empty()) {
    path = fmt::format("/v1/streams/{}/events?scan=1&table={}&format=ndjson&from={}&to={}&limit={}",
                       EncodePercent(source_.stream), EncodePercent(source_.table),
                       QueryTimeText(place_.at), QueryTimeText(end), limit_);
  }
  Result<HttpAnswer> answer = client_.Ask({"GET", path, {}, {}});
  if (!answer) return answer.error();
  if (answer->status != kHttpOk) return Error(ErrorCode::kConflict, DetailOf(*answer));
  page->body = std::move(answer->body);
  if (Status read = Read(page->body, page); !read) return read.error();
  const std::string next = NextPath(*answer);
  if (next.empty()) {
    const size_t events = page->events.size();
    const int64_t growth = events == 0 ? kGrowthOfEmpty : events * 2 <= limit_ ? kGrowth : 1;
    place_ = {end, std::min(place_.width_us * growth, kWidest), {}};
  } else if (page->events.empty() || page->events.back().time == place_.at) {
    place_.next = next;
  } else {
    const TimeUs first = page->events.front().time;
    const TimeUs last = page->events.back().time;
    while (!page->events.empty() && page->events.back().time == last) page->events.pop_back();
    place_ = {last, std::max<int64_t>(last - first, 1), {}};
  }
  Adapt(*page);
  return true;
}

Status EventPages::Read(std::string_view body, CopiedPage* page) const {
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    if (line.empty()) continue;
    Result<EventLine> event = ReadEventLine(line, source_.unit);
    if (!event) return event.error();
    page->events.push_back(std::move(*event));
  }
  return {};
}

void EventPages::Adapt(const CopiedPage& page) {
  if (page.events.empty()) return;
  const uint64_t of_one = std::max<uint64_t>(1, page.body.size() / page.events.size());
  limit_ = std::clamp<uint64_t>(std::min(kPageAim / of_one, limit_ * kMostGrowth), 1, kMostEvents);
}

}  // namespace tallyd
