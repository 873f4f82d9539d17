#include "tools/copy/stream_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <vector>

#include "ingest/text/json_text.h"
#include "tools/copy/json_slices.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

struct Fetched {
  Result<bool> more = false;
  std::unique_ptr<CopiedPage> page = std::make_unique<CopiedPage>();
  PagePlace place;   // Behind the page.
  std::string lack;  // What had gone from there before the page was read.
};

}  // namespace

StreamCopy::StreamCopy(const CopyEnds& ends, StreamPlan plan, const CopyAsked& asked,
                       std::string id, Keep keep)
    : ends_(ends),
      plan_(std::move(plan)),
      asked_(asked),
      id_(std::move(id)),
      keep_(std::move(keep)) {}

Json StreamCopy::Told() const {
  return {{"plan", JsonOfStreamPlan(plan_)},
          {"table", table_},
          {"at", static_cast<uint64_t>(place_.at)},
          {"width_us", static_cast<uint64_t>(place_.width_us)},
          {"next", place_.next},
          {"sequence", sequence_},
          {"expired", counts_.expired},
          {"refused", counts_.refused},
          {"last", static_cast<uint64_t>(last_)},
          {"sums", sums_.ToJson()}};
}

Status StreamCopy::Resume(const Json& told, std::string chunk) {
  Result<EventSums> sums = EventSums::OfJson(told.value("sums", Json()));
  if (!sums) return sums.error();
  sums_ = std::move(*sums);
  table_ = StateNumber(told, "table");
  place_ = {static_cast<TimeUs>(StateNumber(told, "at")),
            std::max<int64_t>(1, static_cast<int64_t>(StateNumber(told, "width_us"))),
            StateText(told, "next")};
  sequence_ = StateNumber(told, "sequence");
  counts_ = {StateNumber(told, "expired"), StateNumber(told, "refused")};
  last_ = static_cast<TimeUs>(StateNumber(told, "last"));
  chunk_ = std::move(chunk);
  return {};
}

// Whether the source was whole from the page's time on is asked behind the page: what it forgets by
// its rules goes while it is copied, and while a copy lies still.
Result<std::string> StreamCopy::LackFrom(TimeUs from) const {
  TransferLine line;
  line.stream = plan_.stream;
  line.from = QueryTimeText(std::max(from, asked_.time.from));
  line.to = QueryTimeText(asked_.time.to);
  // Another table may hold what the one that is read turns out to lack.
  if (plan_.tables.size() == 1) line.table = plan_.tables[0].name;
  Result<ExportPlan> plan = PlanExport(line, ends_.from);
  if (!plan) return plan.error();
  return std::move(plan->lack);
}

Status StreamCopy::Run(ToolProgress* progress) {
  const ChunkSender sender(ends_.to, plan_.stream, plan_.to_unit, asked_.partial);
  const auto send = [&]() -> Status {
    const std::string key = fmt::format("copy-{}-{}", id_, sequence_);
    if (Status sent = sender.Send(chunk_, key, &counts_, &sums_); !sent) return sent;
    progress->done += chunk_.size();
    chunk_.clear();
    return {};
  };
  if (Status sent = send(); !sent) return sent;
  for (; table_ < plan_.tables.size(); ++table_) {
    const SourceTable& table = plan_.tables[table_];
    const auto own = OwnTimesOf(ends_.schema, plan_.stream, table.time_field);
    EventPages pages(ends_.from, {plan_.stream, table.name, plan_.from_unit, asked_.time}, place_);
    // The next page is read while this one is sent.
    const auto fetch = [this, &pages, is_whole = plan_.lack.empty()] {
      Fetched fetched;
      const TimeUs from = pages.place().at;
      fetched.more = pages.Next(fetched.page.get());
      fetched.place = pages.place();
      if (!is_whole || !fetched.more || !*fetched.more) return fetched;
      Result<std::string> lack = LackFrom(from);
      if (lack) {
        fetched.lack = std::move(*lack);
      } else {
        fetched.more = lack.error();
      }
      return fetched;
    };
    std::future<Fetched> next = std::async(std::launch::async, fetch);
    while (true) {
      const Fetched fetched = next.get();
      if (!fetched.more) return fetched.more.error();
      if (!*fetched.more) break;
      if (plan_.lack.empty() && !fetched.lack.empty()) {
        if (!asked_.partial) return Forgotten(fetched.lack);
        plan_.lack = fetched.lack;
      }
      next = std::async(std::launch::async, fetch);
      place_ = fetched.place;
      Result<std::string> chunk = ChunkOf(*fetched.page, own);
      if (!chunk) return chunk.error();
      if (chunk->empty()) continue;
      chunk_ = std::move(*chunk);
      ++sequence_;
      if (Status kept = keep_(Told(), chunk_); !kept) return kept;
      if (Status sent = send(); !sent) return sent;
    }
    place_ = {};
  }
  return {};
}

Result<EventSums> StreamCopy::ReadSource() const {
  EventSums now = EventSums::LikeThoseOf(sums_);
  for (const SourceTable& table : plan_.tables) {
    const std::vector<OwnTime> own = OwnTimesOf(ends_.schema, plan_.stream, table.time_field);
    EventPages pages(ends_.from, {plan_.stream, table.name, plan_.from_unit, asked_.time}, {});
    CopiedPage page;
    while (true) {
      const Result<bool> more = pages.Next(&page);
      if (!more) return more.error();
      if (!*more) break;
      for (const EventLine& event : page.events) {
        if (asked_.partial && !CheckEvent(event, table, own)) continue;
        now.Add(event.time, event.digest);
      }
    }
  }
  return now;
}

Error StreamCopy::Forgotten(const std::string& lack) const {
  return Error(ErrorCode::kConflict,
               fmt::format("the source has begun to forget what was not copied yet, or never held "
                           "it: {}. Start anew from a later time (--from-time), without the file "
                           "that says how far it was, or go on with what there is (--partial)",
                           lack));
}

// The page in the target's spelling.
Result<std::string> StreamCopy::ChunkOf(const CopiedPage& page, const std::vector<OwnTime>& own) {
  std::string time_field;
  AppendJsonString(plan_.tables[table_].time_field, &time_field);
  std::string chunk;
  for (const EventLine& event : page.events) {
    last_ = std::max(last_, event.time);
    if (Status fits = CheckEvent(event, plan_.tables[table_], own); !fits) {
      if (!asked_.partial) return fits.error();
      ++counts_.refused;
      continue;
    }
    sums_.Add(event.time, event.digest);
    AppendEventLine(event, time_field, plan_.to_unit, &chunk);
  }
  return chunk;
}

Status StreamCopy::CheckEvent(const EventLine& event, const SourceTable& table,
                              const std::vector<OwnTime>& own) const {
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorCode::kConflict,
                 fmt::format("the event of {} in table {} {}; --partial goes on without such",
                             FormatRfc3339(event.time), table.name, why));
  };
  if (!event.bytes_field.empty()) {
    return refuse(fmt::format("has bytes in {}, which no event can bring in", event.bytes_field));
  }
  if (own.empty()) return {};
  const std::string text = "{\"\":0" + std::string(event.fields);
  std::vector<JsonSlice> fields;
  CutJson(text, &fields);
  const auto has = [&](const std::string& name) {
    return std::ranges::find(fields, std::string_view(name), &JsonSlice::name) != fields.end();
  };
  for (const OwnTime& other : own) {
    if (has(other.time_field) || !std::ranges::all_of(other.when, has)) continue;
    return refuse(fmt::format("has no {}, by which table {} of the target goes", other.time_field,
                              other.table));
  }
  return {};
}

}  // namespace tallyd
