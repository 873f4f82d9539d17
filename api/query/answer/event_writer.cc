#include "api/query/answer/event_writer.h"

#include <string>
#include <utility>

#include "api/answer.h"
#include "api/query/answer/event_format.h"
#include "api/query/event_cursor_text.h"
#include "service/query/run/unknown_values.h"

namespace tallyd {
namespace {

// Events to the end, while the client takes them.
class EventSource final : public AnswerSource {
 public:
  EventSource(std::unique_ptr<EventRun> run, std::unique_ptr<EventFormat> format)
      : run_(std::move(run)), format_(std::move(format)) {}

  Result<Pulled> Pull(std::string* chunk, const Wake& /*wake*/) override {
    const Result<Pulled> more = Fill(chunk);
    if (more && format_->failure() != nullptr) return *format_->failure();
    return more;
  }

  void Release() override { run_->Release(); }

 private:
  Result<Pulled> Fill(std::string* chunk) {
    if (!std::exchange(begun_, true)) format_->Begin(chunk);
    run_->Refresh();
    const size_t before = chunk->size();
    while (chunk->size() < kChunkBytes) {
      const Result<bool> more = run_->Next();
      if (!more) {
        // What there is goes out; meanwhile others may make room.
        const bool goes_on = LacksRoom() && chunk->size() > before;
        if (!goes_on) return more.error();
        run_->Release();
        return Pulled::kMore;
      }
      if (!*more) return MoreIf(format_->End({}, chunk));
      run_->CountReturned();
      format_->Add(run_->event(), chunk);
    }
    return Pulled::kMore;
  }

  bool LacksRoom() const { return run_->memory() != nullptr && run_->memory()->lacks_room(); }

  std::unique_ptr<EventRun> run_;
  std::unique_ptr<EventFormat> format_;
  bool begun_ = false;
};

// A page whose events are all known.
class PageSource final : public AnswerSource {
 public:
  PageSource(std::unique_ptr<EventRun> run, std::unique_ptr<EventFormat> format, std::string next)
      : run_(std::move(run)), format_(std::move(format)), next_(std::move(next)) {
    run_->Release();  // The format has all that it needs; scans would wait for the reader.
  }

  Result<Pulled> Pull(std::string* chunk, const Wake& /*wake*/) override {
    return MoreIf(format_->End(next_, chunk));
  }

 private:
  std::unique_ptr<EventRun> run_;
  std::unique_ptr<EventFormat> format_;
  std::string next_;
};

// Takes events until the page is full, then looks whether there are more: *next is the cursor then.
Status FillPage(EventRun* run, uint64_t query_hash, EventFormat* format, Response* response,
                std::string* next) {
  std::string* const body = &response->body;
  const uint64_t most_bytes = BytesOfPage(run->memory().get());
  const uint64_t limit = run->query().limit.value_or(kDefaultLimit);
  std::string cursor;
  for (uint64_t taken = 0;; ++taken) {
    const Result<bool> more = run->Next();
    if (!more) return more.error();
    if (!*more) return {};
    if (!cursor.empty()) {
      *next = std::move(cursor);
      return {};
    }
    format->Add(run->event(), body);
    run->CountReturned();
    const uint64_t bytes = body->size() + format->held_bytes();
    // Buffers grow by leaps.
    if (!response->held.Covers(bytes + bytes / 2)) return response->held.refusal();
    const bool full = bytes >= most_bytes;
    if (taken + 1 == limit || full) cursor = EncodeCursor(run->Cursor(), query_hash);
  }
}

}  // namespace

Response AnswerEvents(const Request& request, const EventAnswer& answer,
                      std::unique_ptr<EventRun> run, bool* replan) {
  if (Status status = run->Start(); !status) return ProblemOf(status.error());
  const EventRun& running = *run;
  const auto must_replan = [&] {
    if (replan != nullptr) *replan = running.HasMetMerged();
    return replan != nullptr && *replan;
  };
  Result<std::unique_ptr<EventFormat>> made = MakeEventFormat(run.get(), answer.format);
  if (!made) return ProblemOf(made.error());
  std::unique_ptr<EventFormat> format = std::move(*made);
  Response response;
  response.content_type = InfoOf(answer.format).content_type;
  if (!run->query().is_page) {
    auto source = std::make_unique<EventSource>(std::move(run), std::move(format));
    if (replan != nullptr) {
      const Result<Pulled> pulled = source->Pull(&response.body, Wake());
      if (!pulled) return ProblemOf(pulled.error());
      if (must_replan() || *pulled == Pulled::kEnd) return response;
    }
    response.source = std::move(source);
    return response;
  }
  std::string next;
  response.held = MemoryCharge(run->memory());
  format->Begin(&response.body);
  const Status filled = FillPage(run.get(), answer.query_hash, format.get(), &response, &next);
  if (!filled) return ProblemOf(filled.error());
  if (must_replan()) return response;
  const bool is_empty = run->returned() == 0 && !run->query().cursor;
  if (is_empty && format->is_page()) {
    format->SetHint(HintAtUnknownValues(run->query(), run->parts().store, run->memory()));
  }
  if (!next.empty() && !format->is_page()) {
    response.headers.emplace_back("Link", NextLink(request, next));
  }
  response.source =
      std::make_unique<PageSource>(std::move(run), std::move(format), std::move(next));
  return response;
}

}  // namespace tallyd
