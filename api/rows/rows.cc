#include <utility>

#include "api/cell_json.h"
#include "api/handlers.h"
#include "api/rows/row_query.h"
#include "api/rows/row_run.h"

namespace tallyd {
namespace {

constexpr std::string_view kCsvHeader = "key,family,qualifier,ts,value\r\n";

// {"rows": [...], "next": ...}: what comes next stands at the end, so pages of any size stream.
class JsonRows final : public BodySource {
 public:
  explicit JsonRows(std::unique_ptr<RowRun> run) : run_(std::move(run)) {}

  Result<bool> Next(std::string* chunk) override {
    if (!std::exchange(begun_, true)) chunk->append("{\"rows\":[");
    run_->Refresh();
    const uint64_t limit = run_->query().limit.value_or(kDefaultLimit);
    while (chunk->size() < kChunkBytes) {
      const Result<bool> more = run_->Next();
      if (!more) return more;
      if (!*more || written_ == limit) {
        chunk->append("],\"next\":");
        if (*more) {
          AppendJsonString(run_->Cursor(), chunk);
        } else {
          chunk->append("null");
        }
        chunk->append("}\n");
        return false;
      }
      if (written_++ > 0) chunk->push_back(',');
      run_->Append(chunk);
    }
    return true;
  }

 private:
  std::unique_ptr<RowRun> run_;
  bool begun_ = false;
  uint64_t written_ = 0;
};

class RowLines final : public BodySource {
 public:
  explicit RowLines(std::unique_ptr<RowRun> run) : run_(std::move(run)) {}

  Result<bool> Next(std::string* chunk) override {
    if (!std::exchange(begun_, true) && run_->query().format == AnswerFormat::kCsv) {
      chunk->append(kCsvHeader);
    }
    run_->Refresh();
    while (chunk->size() < kChunkBytes) {
      const Result<bool> more = run_->Next();
      if (!more || !*more) return more;
      run_->Append(chunk);
    }
    return true;
  }

 private:
  std::unique_ptr<RowRun> run_;
  bool begun_ = false;
};

// The page has to be read to its end before the header that tells of the next one is sent.
Response LimitedLines(const Request& request, RowRun* run) {
  Response response;
  response.content_type = ContentTypeOf(run->query().format);
  if (run->query().format == AnswerFormat::kCsv) response.body = kCsvHeader;
  for (uint64_t written = 0;; ++written) {
    const Result<bool> more = run->Next();
    if (!more) return ProblemOf(more.error());
    if (!*more) return response;
    if (written == *run->query().limit || response.body.size() >= kPageBytes) {
      response.headers.emplace_back("Link", NextLink(request, run->Cursor()));
      return response;
    }
    run->Append(&response.body);
  }
}

}  // namespace

Response GetRows(const Request& request, ApiContext& context) {
  Result<RowQuery> query = ParseRowQuery(request, context, RowCount::kMany);
  if (!query) return ProblemOf(query.error());
  const AnswerFormat format = query->format;
  const bool limited = query->limit.has_value();
  auto run = std::make_unique<RowRun>(std::move(*query), context);
  if (limited && format != AnswerFormat::kJson) return LimitedLines(request, run.get());
  Response response;
  response.content_type = ContentTypeOf(format);
  if (format == AnswerFormat::kJson) {
    response.source = std::make_unique<JsonRows>(std::move(run));
  } else {
    response.source = std::make_unique<RowLines>(std::move(run));
  }
  return response;
}

Response GetRow(const Request& request, ApiContext& context) {
  Result<RowQuery> query = ParseRowQuery(request, context, RowCount::kOne);
  if (!query) return ProblemOf(query.error());
  RowRun run(std::move(*query), context);
  const Result<bool> found = run.Next();
  if (!found) return ProblemOf(found.error());
  if (!*found) {
    return Problem(404,
                   "table " + request.arguments[0] + " has no such row, or none with such cells");
  }
  Response response;
  response.content_type = ContentTypeOf(run.query().format);
  if (run.query().format == AnswerFormat::kCsv) response.body = kCsvHeader;
  run.Append(&response.body);
  if (run.query().format == AnswerFormat::kJson) response.body.push_back('\n');
  return response;
}

}  // namespace tallyd
