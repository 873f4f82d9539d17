// TelnetBatch: the lines of a telnet connection that wait together, and what each is answered:
//
//   put METRIC TIME VALUE TAG=V ...    nothing; or "put: why it is refused"
//   version                            who answers. What came before it is durable by then.
//   exit                               the connection ends; what follows is not looked at
//   help                               these
//
//   batch.Begin(form, bytes, version);
//   while (line) batch.Take(*line);
//   ...                                // batch.points() are stored.
//   batch.Answers(errors)
//
// Bounded: of many answers some are left out, and counted. Not thread-safe.
#ifndef TALLYD_API_TELNET_TELNET_BATCH_H_
#define TALLYD_API_TELNET_TELNET_BATCH_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/telnet/line_buffer.h"
#include "ingest/points/data_points.h"

namespace tallyd {

class TelnetBatch {
 public:
  static constexpr size_t kMaxAnswerBytes = 256u << 10;

  // `points` are filled, and outlive the batch's use; `version` is what the command answers.
  void Begin(DataPoints* points, std::string_view version);
  // Lines outlive the points.
  void Take(const LineBuffer::Line& line);

  bool has_points() const { return points_->seen() > 0; }
  bool ends() const { return ends_; }  // No line behind is to be taken.

  // In the order of the lines. `errors`: of the points that are not stored, in their order.
  std::string Answers(std::span<const PointError> errors) const;

 private:
  // What a line is answered that is no point, and how many points came before it.
  struct Reply {
    size_t points = 0;
    std::string text;
  };

  void Answer(std::string text);
  void AnswerUnknown(std::string_view word);

  DataPoints* points_ = nullptr;
  std::string_view version_;
  std::vector<Reply> replies_;
  size_t reply_bytes_ = 0;
  size_t left_out_ = 0;  // Replies.
  bool ends_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_API_TELNET_TELNET_BATCH_H_
