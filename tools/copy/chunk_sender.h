// ChunkSender: sends events to the target so that they count once, however often they are sent: a
// chunk has a key, and so has each part into which it must be cut, by nothing but what the target
// answers. Blocks; for one thread.
#ifndef TALLYD_TOOLS_COPY_CHUNK_SENDER_H_
#define TALLYD_TOOLS_COPY_CHUNK_SENDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/copy/event_sums.h"
#include "tools/transfer/patient_client.h"

namespace tallyd {

struct SentCounts {
  uint64_t expired = 0;  // Answers of the target: events that a table of it did not take.
  uint64_t refused = 0;
};

class ChunkSender {
 public:
  // `partial`: goes on without the events that the target refuses. The client outlives it.
  ChunkSender(const PatientClient& to, std::string stream, TimeUnit unit, bool partial);

  // `chunk` is NDJSON in the target's unit. What is refused is taken out of the sums, which have
  // all of it before. kInvalid names the event that is refused.
  Status Send(std::string_view chunk, const std::string& key, SentCounts* counts,
              EventSums* sums) const;

 private:
  using Lines = std::vector<std::string_view>;

  Status SendLines(Lines lines, const std::string& whole_key, SentCounts* counts,
                   EventSums* sums) const;
  Status Drop(const HttpAnswer& answer, Lines* lines, SentCounts* counts, EventSums* sums) const;

  const PatientClient& to_;
  const std::string stream_;
  const TimeUnit unit_;
  const bool partial_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_CHUNK_SENDER_H_
