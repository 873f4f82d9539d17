#include "tools/copy/chunk_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ingest/text/percent.h"
#include "tools/copy/event_line.h"
#include "tools/copy/json_slices.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

constexpr size_t kShownBytes = 300;

std::string Joined(const std::vector<std::string_view>& lines) {
  std::string body;
  for (const std::string_view line : lines) {
    body.append(line);
    body.push_back('\n');
  }
  return body;
}

// The events that an answer refuses: of many only the first are named.
std::set<size_t> RefusedIn(const HttpAnswer& answer, size_t events) {
  std::set<size_t> refused;
  const Json said = Json::parse(answer.body, nullptr, false);
  if (!said.is_object() || !said.contains("errors") || !said["errors"].is_array()) return refused;
  for (const Json& error : said["errors"]) {
    const size_t index = error.is_object() ? StateNumber(error, "index") : events;
    if (index < events) refused.insert(index);
  }
  return refused;
}

}  // namespace

ChunkSender::ChunkSender(const PatientClient& to, std::string stream, TimeUnit unit, bool partial)
    : to_(to), stream_(std::move(stream)), unit_(unit), partial_(partial) {}

Status ChunkSender::Send(std::string_view chunk, const std::string& key, SentCounts* counts,
                         EventSums* sums) const {
  return SendLines(LinesOf(chunk), key, counts, sums);
}

Status ChunkSender::SendLines(Lines lines, const std::string& whole_key, SentCounts* counts,
                              EventSums* sums) const {
  std::string key = whole_key;
  for (size_t round = 1; !lines.empty(); ++round) {
    const std::string body = Joined(lines);
    const Result<HttpAnswer> answer =
        to_.Ask({"POST",
                 "/v1/streams/" + EncodePercent(stream_) + "/events?guards=off",
                 {{"Content-Type", "application/x-ndjson"}, {"Idempotency-Key", key}},
                 body});
    if (!answer) return answer.error();
    if (answer->status == kHttpOk) {
      if (Status told = CheckCounts(*answer, lines.size()); !told) {
        return told.error().Prefixed("the target");
      }
      counts->expired += StateNumber(Json::parse(answer->body, nullptr, false), "expired");
      return {};
    }
    if (answer->status == kHttpTooLarge && lines.size() > 1) {
      const auto half = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2);
      if (Status sent = SendLines({lines.begin(), half}, key + "a", counts, sums); !sent) {
        return sent;
      }
      return SendLines({half, lines.end()}, key + "b", counts, sums);
    }
    if (Status dropped = Drop(*answer, &lines, counts, sums); !dropped) return dropped;
    key = fmt::format("{}-{}", whole_key, round);
  }
  return {};
}

Status ChunkSender::Drop(const HttpAnswer& answer, Lines* lines, SentCounts* counts,
                         EventSums* sums) const {
  std::set<size_t> refused = RefusedIn(answer, lines->size());
  const bool is_too_large = answer.status == kHttpTooLarge && lines->size() == 1;
  if (is_too_large) refused.insert(0);
  if (!partial_ || refused.empty() || (answer.status != kHttpBadRequest && !is_too_large)) {
    std::string text = fmt::format("the target answers {}", DetailOf(answer));
    if (!refused.empty()) {
      text += fmt::format(": {}", (*lines)[*refused.begin()].substr(0, kShownBytes));
    }
    return Error(ErrorCode::kInvalid, std::move(text));
  }
  Lines kept;
  for (size_t i = 0; i < lines->size(); ++i) {
    if (!refused.contains(i)) {
      kept.push_back((*lines)[i]);
      continue;
    }
    const Result<EventLine> event = ReadEventLine((*lines)[i], unit_);
    if (!event) return event.error();
    sums->Remove(event->time, event->digest);
    ++counts->refused;
  }
  *lines = std::move(kept);
  return {};
}

}  // namespace tallyd
