#include <limits>
#include <utility>

#include "api/answer.h"
#include "api/handlers.h"
#include "api/rows/read_row_query.h"
#include "api/rows/row_format.h"
#include "service/rows/row_run.h"

namespace tallyd {
namespace {

// Rows to the end of the page, or of all where the format has no pages, while the client takes
// them.
class RowSource final : public AnswerSource {
 public:
  RowSource(std::unique_ptr<RowRun> run, std::unique_ptr<RowFormat> format, uint64_t query_hash)
      : run_(std::move(run)),
        format_(std::move(format)),
        query_hash_(query_hash),
        limit_(format_->is_page() ? run_->query().limit.value_or(kDefaultLimit)
                                  : std::numeric_limits<uint64_t>::max()) {}

  Result<Pulled> Pull(std::string* chunk, const Wake& /*wake*/) override {
    if (!std::exchange(begun_, true)) format_->Begin(chunk);
    run_->Refresh();
    const size_t before = chunk->size();
    while (chunk->size() < kChunkBytes) {
      const Result<bool> more = run_->Next();
      if (!more) {
        const bool lacks_room = run_->memory() != nullptr && run_->memory()->lacks_room();
        if (!lacks_room || chunk->size() == before) return more.error();
        run_->Release();  // What there is goes out; meanwhile others may make room.
        return Pulled::kMore;
      }
      if (!*more || written_ == limit_) {
        format_->End(*more ? RowCursor(run_->last_key(), query_hash_) : std::string(), chunk);
        return Pulled::kEnd;
      }
      format_->Add(run_->Take(), chunk);
      ++written_;
    }
    return Pulled::kMore;
  }

  void Release() override { run_->Release(); }

 private:
  std::unique_ptr<RowRun> run_;
  std::unique_ptr<RowFormat> format_;
  const uint64_t query_hash_;
  const uint64_t limit_;
  bool begun_ = false;
  uint64_t written_ = 0;
};

// The page has to be read to its end before the header that tells of the next one is sent.
Response LimitedLines(const Request& request, uint64_t query_hash, RowRun* run, RowFormat* format) {
  Response response;
  response.held = MemoryCharge(run->memory());
  const uint64_t most_bytes = BytesOfPage(run->memory().get());
  format->Begin(&response.body);
  for (uint64_t written = 0;; ++written) {
    const Result<bool> more = run->Next();
    if (!more) return ProblemOf(more.error());
    if (!*more) return response;
    if (written == *run->query().limit || response.body.size() >= most_bytes) {
      response.headers.emplace_back("Link",
                                    NextLink(request, RowCursor(run->last_key(), query_hash)));
      return response;
    }
    format->Add(run->Take(), &response.body);
    if (!response.held.Covers(response.body.size() * 3 / 2)) {
      return ProblemOf(response.held.refusal());
    }
  }
}

}  // namespace

Response GetRows(const Request& request, ApiContext& context) {
  Result<RowRequest> asked = ReadRowRequest(request, context, RowCount::kMany);
  if (!asked) return ProblemOf(asked.error());
  auto run =
      std::make_unique<RowRun>(std::move(asked->query), context.read_parts(), request.memory);
  std::unique_ptr<RowFormat> format = MakeRowFormat(run->query(), asked->format, asked->raw);
  Response response;
  if (run->query().limit && !format->is_page()) {
    response = LimitedLines(request, asked->hash, run.get(), format.get());
    if (response.status != 200) return response;
  } else {
    response.source = std::make_unique<RowSource>(std::move(run), std::move(format), asked->hash);
  }
  response.content_type = InfoOf(asked->format).content_type;
  return response;
}

Response GetRow(const Request& request, ApiContext& context) {
  Result<RowRequest> asked = ReadRowRequest(request, context, RowCount::kOne);
  if (!asked) return ProblemOf(asked.error());
  RowRun run(std::move(asked->query), context.read_parts(), request.memory);
  const Result<bool> found = run.Next();
  if (!found) return ProblemOf(found.error());
  if (!*found) {
    return Problem(404,
                   "table " + request.arguments[0] + " has no such row, or none with such cells");
  }
  Response response;
  response.content_type = InfoOf(asked->format).content_type;
  MakeRowFormat(run.query(), asked->format, asked->raw)->AddAlone(run.Take(), &response.body);
  run.Release();  // What the row took is the answer's now.
  response.held = MemoryCharge(request.memory);
  if (!response.held.Covers(response.body.size())) return ProblemOf(response.held.refusal());
  return response;
}

}  // namespace tallyd
