#include "api/routes/ingest_endpoint.h"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "api/access/credentials.h"
#include "api/access/refusals.h"
#include "api/endpoint/keyed.h"
#include "api/endpoint/plain_body.h"
#include "api/endpoint/waits.h"
#include "api/routes/ingest.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

class IngestEndpoint final : public Endpoint {
 public:
  explicit IngestEndpoint(Exchange& exchange) : Endpoint(exchange) {}

  std::optional<Response> Admit() override;
  asio::awaitable<Response> Answer() override;
  Response Refused(RejectReason reason, Response problem) override;
  // Batches are too many for a line each: their refusals are sampled (Rejects).
  LoggedChanges logged_changes() const override { return LoggedChanges::kNone; }

 private:
  std::optional<IngestHead> head_;  // Once it was read.
};

std::optional<Response> IngestEndpoint::Admit() {
  if (std::optional<Response> refusal = RefusalOfKey(exchange_, *this)) return refusal;
  Result<IngestHead> head = ReadIngestHead(request(), context());
  if (!head) return ProblemOf(head.error());
  head_ = std::move(*head);
  const Principal& principal = *request().principal;
  if (!head_->guarded && !principal.roles.Have(Role::kAdmin)) {
    return Refused(RejectReason::kHttp, LacksRole(principal, Role::kAdmin));
  }
  return std::nullopt;
}

asio::awaitable<Response> IngestEndpoint::Answer() {
  RequestBody& body = exchange_.body;
  IngestWorkspace& workspace = body.workspace->ingest;
  std::string_view bytes = body.bytes;
  std::unique_ptr<KeyClaim> claim;
  if (request().idempotency_key && !head_->dry_run) {
    std::optional<KeyedRequest> keyed;
    std::function<void()> decode = [this, &keyed, &bytes, &workspace] {
      keyed = KeyedBatch(*request().idempotency_key, &*head_, &bytes, context(), workspace);
    };
    if (TakesLong(exchange_)) {
      co_await RunElsewhere(exchange_.threads.decoding, std::move(decode));
    } else {
      decode();
    }
    // What it waits with counts: the body, and what that was decoded to.
    const uint64_t held =
        body.bytes.size() + (bytes.data() == body.bytes.data() ? 0 : bytes.size());
    if (!body.charge.Covers(held)) {
      co_return Refused(RejectReason::kOverloaded, ProblemOf(body.charge.Refusal(held)));
    }
    if (keyed) {
      std::optional<Response> known =
          co_await AnswerByKey(exchange_, *this, std::move(*keyed), &claim);
      if (known) co_return std::move(*known);
    }
    head_->claim = claim.get();
  }
  PreparedBatch prepared;
  if (TakesLong(exchange_)) {
    std::function<void()> prepare = [this, &prepared, &bytes, &workspace] {
      prepared = PrepareIngest(*head_, bytes, context(), workspace);
    };
    co_await RunElsewhere(exchange_.threads.decoding, std::move(prepare));
  } else {
    prepared = PrepareIngest(*head_, bytes, context(), workspace);
  }
  body.LetGo();
  if (prepared.response) co_return std::move(*prepared.response);
  std::function<void(CommitDone)> submit = [this, &prepared](CommitDone done) {
    context().writer.Submit(&prepared.write, std::move(done));
  };
  const Status committed = co_await AwaitCommit(std::move(submit));
  co_return AnswerIngest(*head_, prepared, committed, context());
}

Response IngestEndpoint::Refused(RejectReason reason, Response problem) {
  // Another method on this path was no attempt to write events.
  if (problem.status == 405) return problem;
  const std::string_view stream = head_ ? std::string_view(head_->stream) : std::string_view();
  context().rejects.Count(stream, reason, WithoutTokens(problem.problem), request().peer);
  return problem;
}

}  // namespace

std::unique_ptr<Endpoint> MakeIngestEndpoint(Exchange& exchange) {
  return std::make_unique<IngestEndpoint>(exchange);
}

}  // namespace tallyd
