#include "api/telnet/telnet_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ingest/decode/event_batch.h"
#include "ingest/points/point_line.h"

namespace tallyd {
namespace {

constexpr size_t kMaxReplyBytes = 64u << 10;

// By which OpenTSDB says of what kind a mistake is. What the stream's tables refuse says none.
constexpr std::string_view kArgument = "illegal argument: ";
constexpr std::string_view kValue = "invalid value: ";

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

// The first line of a request: what follows may be a body that some web page made up.
bool IsHttp(std::string_view line) {
  return line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0");
}

}  // namespace

void TelnetBatch::Begin(DataPoints* points, std::string_view version) {
  points_ = points;
  version_ = version;
  replies_.clear();
  reply_bytes_ = left_out_ = 0;
  ends_ = false;
}

void TelnetBatch::Take(const LineBuffer::Line& line) {
  if (line.is_too_long) {
    points_->Refuse({}, fmt::format("illegal argument: a line is longer than {} bytes",
                                    LineBuffer::kMaxLineBytes));
    return;
  }
  if (IsHttp(line.text)) {
    ends_ = true;
    return Answer("this port speaks no HTTP\n");
  }
  std::string_view rest = line.text;
  const std::string_view word = TakeWord(&rest);
  if (word == "put") return ReadPointLine(line.text, rest, points_);
  if (word == "version") return Answer(fmt::format("{}\n", version_));
  if (word == "help") return Answer("available commands: put version exit help\n");
  if (word == "exit") {
    ends_ = true;
  } else if (!word.empty()) {
    AnswerUnknown(word);
  }
}

void TelnetBatch::AnswerUnknown(std::string_view word) {
  if (IsPrintable(word)) {
    Answer(fmt::format("unknown command: {}.  Try `help'.\n", Shown(word)));
  } else {
    Answer("unknown command.  Try `help'.\n");
  }
}

void TelnetBatch::Answer(std::string text) {
  if (reply_bytes_ > kMaxReplyBytes) {
    ++left_out_;
    return;
  }
  reply_bytes_ += text.size() + sizeof(Reply);
  replies_.push_back({points_->seen(), std::move(text)});
}

std::string TelnetBatch::Answers(std::span<const PointError> errors) const {
  std::string answers;
  size_t left_out = left_out_;
  auto reply = replies_.begin();
  for (const PointError& error : errors) {
    for (; reply != replies_.end() && reply->points <= error.index; ++reply) answers += reply->text;
    if (answers.size() < kMaxAnswerBytes) {
      const bool says_kind = error.error.starts_with(kArgument) || error.error.starts_with(kValue);
      answers.append("put: ").append(says_kind ? "" : kArgument).append(error.error).append("\n");
    } else {
      ++left_out;
    }
  }
  for (; reply != replies_.end(); ++reply) answers += reply->text;
  if (left_out > 0) answers += fmt::format("put: {} more answers were left out\n", left_out);
  return answers;
}

}  // namespace tallyd
