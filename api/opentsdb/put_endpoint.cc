#include "api/opentsdb/put_endpoint.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/access/credentials.h"
#include "api/endpoint/plain_body.h"
#include "api/endpoint/waits.h"
#include "api/opentsdb/opentsdb_endpoint.h"
#include "api/opentsdb/opentsdb_error.h"
#include "api/opentsdb/put_points.h"
#include "ingest/text/json_text.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

// Of an answer that lists what failed; what is beyond is only counted.
constexpr size_t kMaxDetailBytes = 4u << 20;

class PutEndpoint final : public OpenTsdbEndpoint {
 public:
  explicit PutEndpoint(Exchange& exchange) : OpenTsdbEndpoint(exchange) {}

  std::optional<Response> Admit() override;
  asio::awaitable<Response> Answer() override;
  Response Refused(RejectReason reason, Response problem) override;
  // They are too many for a line each: refusals are sampled (Rejects).
  LoggedChanges logged_changes() const override { return LoggedChanges::kNone; }

 private:
  // The answer, which holds once what is to be committed is; empty: it is not known yet.
  void Prepare();
  Response AnswerOf(const PointWrite& put) const;
  Response Failed(const Error& error, std::string_view message);

  ContentEncoding encoding_ = ContentEncoding::kIdentity;
  PointWrite put_;
  Response answer_;
};

std::optional<Response> PutEndpoint::Admit() {
  if (auto refusal = OpenTsdbEndpoint::Admit()) return refusal;
  const Result<ContentEncoding> encoding = EncodingOf(request());
  if (!encoding) return Refused(RejectReason::kUnsupported, ProblemOf(encoding.error()));
  encoding_ = *encoding;
  return std::nullopt;
}

Response PutEndpoint::Refused(RejectReason reason, Response problem) {
  context().rejects.Count("", reason, WithoutTokens(problem.problem), request().peer);
  return OpenTsdbEndpoint::Refused(reason, std::move(problem));
}

Response PutEndpoint::Failed(const Error& error, std::string_view message) {
  context().rejects.Count(protocol().stream, ReasonOf(error.code()), error.message(),
                          request().peer);
  if (error.code() != ErrorCode::kInvalid) return OpentsdbErrorOf(error);
  return OpentsdbError(400, message, error.message());
}

void PutEndpoint::Prepare() {
  IngestWorkspace& workspace = exchange_.body.workspace->ingest;
  const Result<PointEventForm> form = FormOfStream(protocol().stream, context());
  if (!form) {
    answer_ = OpentsdbErrorOf(Error(ErrorCode::kUnavailable, form.error().message()));
    return;
  }
  const auto body = PlainBody(encoding_, exchange_.body.bytes, context(), workspace);
  if (!body) {
    answer_ = Failed(body.error(), "Unable to decode the body");
    return;
  }
  workspace.points.Begin(*form, body->size());
  if (Status read = workspace.point_reader.Read(*body, &workspace.points); !read) {
    answer_ = Failed(read.error(), "Unable to parse the given JSON");
    return;
  }
  if (workspace.points.seen() == 0) {
    answer_ = OpentsdbError(400, "No datapoints found in content");
    return;
  }
  put_ = PreparePoints(request().principal, protocol().stream, request().peer, &workspace.points,
                       &workspace.events, context());
  answer_ = put_.error ? OpentsdbErrorOf(*put_.error) : AnswerOf(put_);
  put_.errors.clear();  // Views of the body, which goes.
}

Response PutEndpoint::AnswerOf(const PointWrite& put) const {
  // That a flag is there is what counts, whatever it says.
  const bool has_details = exchange_.request.params.Has("details");
  if (!has_details && !exchange_.request.params.Has("summary")) {
    if (put.failed > 0) {
      return OpentsdbError(400, "One or more data points had errors",
                           "Please see the TSD logs or append \"details\" to the put request");
    }
    Response response;
    response.status = 204;
    return response;
  }
  std::string body = fmt::format("{{\"success\":{},\"failed\":{}", put.stored, put.failed);
  if (has_details) {
    body += ",\"errors\":[";
    const size_t begin = body.size();
    for (const PointError& error : put.errors) {
      if (body.size() > kMaxDetailBytes) break;
      if (body.size() > begin) body.push_back(',');
      body.append("{\"datapoint\":").append(error.source).append(",\"error\":");
      AppendJsonString(error.error, &body);
      body.push_back('}');
    }
    body.push_back(']');
  }
  body.push_back('}');
  return Response::Json(put.failed > 0 ? 400 : 200, std::move(body));
}

asio::awaitable<Response> PutEndpoint::Answer() {
  if (TakesLong(exchange_)) {
    std::function<void()> prepare = [this] { Prepare(); };
    co_await RunElsewhere(exchange_.threads.decoding, std::move(prepare));
  } else {
    Prepare();
  }
  exchange_.body.LetGo();
  const bool is_ready = !put_.error && put_.write.state == EventWrite::State::kReady &&
                        put_.write.batch != nullptr;
  if (!is_ready) co_return std::move(answer_);
  std::function<void(CommitDone)> submit = [this](CommitDone done) {
    context().writer.Submit(&put_.write, std::move(done));
  };
  const Status committed = co_await AwaitCommit(std::move(submit));
  if (!committed) co_return Failed(committed.error(), "The data points were not stored");
  context().writer.NoteCommitted(&put_.write);
  co_return std::move(answer_);
}

}  // namespace

std::unique_ptr<Endpoint> MakeOpenTsdbPut(Exchange& exchange) {
  return std::make_unique<PutEndpoint>(exchange);
}

}  // namespace tallyd
