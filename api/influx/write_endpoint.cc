#include "api/influx/write_endpoint.h"

#include <functional>
#include <optional>
#include <utility>

#include "api/access/credentials.h"
#include "api/endpoint/plain_body.h"
#include "api/endpoint/waits.h"
#include "api/influx/influx_endpoint.h"
#include "api/influx/write_head.h"
#include "api/influx/write_lines.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

class InfluxWriteEndpoint final : public InfluxEndpoint {
 public:
  InfluxWriteEndpoint(Exchange& exchange, InfluxDialect dialect)
      : InfluxEndpoint(exchange, dialect) {}

  std::optional<Response> Admit() override;
  asio::awaitable<Response> Answer() override;
  Response Refused(RejectReason reason, Response problem) override;
  // They are too many for a line each: refusals are sampled (Rejects).
  LoggedChanges logged_changes() const override { return LoggedChanges::kNone; }

 private:
  void Prepare();
  InfluxWriter Who() { return {request().principal, request().peer, protocol(), dialect()}; }
  // InfluxDB has words of its own for one of the ways in which a body cannot be unpacked.
  Response Undecodable(const Error& error);

  InfluxWriteHead head_;
  InfluxWrite write_;
};

std::optional<Response> InfluxWriteEndpoint::Admit() {
  if (auto refusal = InfluxEndpoint::Admit()) return refusal;
  std::optional<Response> refusal;
  head_ = ReadInfluxWriteHead(dialect(), request(), &refusal);
  if (refusal) {
    const RejectReason reason =
        refusal->status == 415 ? RejectReason::kUnsupported : RejectReason::kMalformed;
    context().rejects.Count("", reason, WithoutTokens(refusal->problem), request().peer);
  }
  return refusal;
}

Response InfluxWriteEndpoint::Refused(RejectReason reason, Response problem) {
  context().rejects.Count("", reason, WithoutTokens(problem.problem), request().peer);
  return InfluxEndpoint::Refused(reason, std::move(problem));
}

Response InfluxWriteEndpoint::Undecodable(const Error& error) {
  Response answer = FailedLines(Who(), error, context());
  const bool is_gzip_of_v2 = dialect() == InfluxDialect::kV2 &&
                             head_.encoding == ContentEncoding::kGzip &&
                             error.code() == ErrorCode::kInvalid;
  if (!is_gzip_of_v2) return answer;
  return InfluxError(dialect(), 400, "gzipped HTTP body contains an invalid header");
}

void InfluxWriteEndpoint::Prepare() {
  IngestWorkspace& workspace = exchange_.body.workspace->ingest;
  const auto body = PlainBody(head_.encoding, exchange_.body.bytes, context(), workspace);
  if (body) {
    write_ = PrepareLines(Who(), head_, *body, context(), workspace);
  } else {
    write_.answer = Undecodable(body.error());
  }
}

asio::awaitable<Response> InfluxWriteEndpoint::Answer() {
  if (TakesLong(exchange_)) {
    std::function<void()> prepare = [this] { Prepare(); };
    co_await RunElsewhere(exchange_.threads.decoding, std::move(prepare));
  } else {
    Prepare();
  }
  exchange_.body.LetGo();
  if (!write_.to_commit) co_return std::move(write_.answer);
  std::function<void(CommitDone)> submit = [this](CommitDone done) {
    context().writer.Submit(&write_.write, std::move(done));
  };
  const Status committed = co_await AwaitCommit(std::move(submit));
  if (!committed) co_return FailedLines(Who(), committed.error(), context());
  context().writer.NoteCommitted(&write_.write);
  co_return std::move(write_.answer);
}

}  // namespace

std::unique_ptr<Endpoint> MakeInfluxWrite(Exchange& exchange, InfluxDialect dialect) {
  return std::make_unique<InfluxWriteEndpoint>(exchange, dialect);
}

}  // namespace tallyd
