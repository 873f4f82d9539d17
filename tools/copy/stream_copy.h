// StreamCopy: one stream's events on their way: read from the source a page at a time, kept with
// the state of the copy, sent, and so on, until the source has no more.
//
//   StreamCopy copy(ends, plan, asked, id, keep);   // or copy.Resume(told, chunk)
//   copy.Run(&progress);
//
// `keep` makes a state durable: it is called with all that Resume needs before each chunk is sent.
// Blocks; for one thread.
#ifndef TALLYD_TOOLS_COPY_STREAM_COPY_H_
#define TALLYD_TOOLS_COPY_STREAM_COPY_H_

#include <functional>
#include <string>
#include <string_view>

#include "tools/console.h"
#include "tools/copy/chunk_sender.h"
#include "tools/copy/copy_plan.h"
#include "tools/copy/event_pages.h"
#include "tools/copy/event_sums.h"

namespace tallyd {

class StreamCopy {
 public:
  using Keep = std::function<Status(const Json& told, std::string_view chunk)>;

  // `id` tells the copy's keys from those of any other.
  StreamCopy(const CopyEnds& ends, StreamPlan plan, const CopyAsked& asked, std::string id,
             Keep keep);

  // To where the kept state was; the chunk in it is sent again by Run.
  Status Resume(const Json& told, std::string chunk);
  Status Run(ToolProgress* progress);
  // What the source gives now of what this copies, sent to nobody.
  Result<EventSums> ReadSource() const;
  Json Told() const;  // What Resume needs.

  const StreamPlan& plan() const { return plan_; }
  const EventSums& sums() const { return sums_; }  // Of what was taken over.
  const SentCounts& counts() const { return counts_; }
  TimeUs last() const { return last_; }  // The greatest time that was read.

 private:
  Result<std::string> LackFrom(TimeUs from) const;
  Error Forgotten(const std::string& lack) const;
  Result<std::string> ChunkOf(const CopiedPage& page, const std::vector<OwnTime>& own);
  Status CheckEvent(const EventLine& event, const SourceTable& table,
                    const std::vector<OwnTime>& own) const;

  const CopyEnds& ends_;
  StreamPlan plan_;
  const CopyAsked asked_;
  const std::string id_;
  const Keep keep_;
  size_t table_ = 0;  // Of the plan.
  PagePlace place_;
  uint64_t sequence_ = 0;  // Of chunks.
  std::string chunk_;      // Kept, and perhaps not sent.
  TimeUs last_ = 0;
  EventSums sums_;
  SentCounts counts_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_STREAM_COPY_H_
