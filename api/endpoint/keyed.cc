#include "api/endpoint/keyed.h"

#include <exception>
#include <functional>
#include <utility>

#include "api/endpoint/waits.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

// On a thread of a pool, where an exception would end the process.
Result<std::optional<KeyedAnswer>> FindAnswer(KeyClaim* claim) {
  try {
    return claim->Find();
  } catch (const std::exception& e) {
    return Error(ErrorCode::kIo, e.what());
  }
}

}  // namespace

std::optional<Response> RefusalOfKey(Exchange& exchange, Endpoint& endpoint) {
  if (!exchange.request.idempotency_key) return std::nullopt;
  const Status good = exchange.request.has_two_idempotency_keys
                          ? Invalid("Idempotency-Key: it comes more than once, and one counts")
                          : CheckIdempotencyKey(*exchange.request.idempotency_key);
  if (good) return std::nullopt;
  return endpoint.Refused(RejectReason::kMalformed, ProblemOf(good.error()));
}

asio::awaitable<std::optional<Response>> AnswerByKey(Exchange& exchange, Endpoint& endpoint,
                                                     KeyedRequest keyed,
                                                     std::unique_ptr<KeyClaim>* claim) {
  keyed.owner = exchange.request.principal->name;
  keyed.takes_ownerless = !exchange.request.principal->is_scoped();
  *claim = co_await AwaitClaim(exchange.context.keys, keyed);
  Result<std::optional<KeyedAnswer>> known = std::optional<KeyedAnswer>();
  std::function<void()> job = [claim, &known] { known = FindAnswer(claim->get()); };
  co_await RunBlocking(exchange.threads.lookups, std::move(job));
  std::optional<Response> response;
  if (!known) {
    const bool is_foreign = known.error().code() == ErrorCode::kUnprocessable;
    response = endpoint.Refused(is_foreign ? RejectReason::kMalformed : RejectReason::kStorage,
                                ProblemOf(known.error()));
  } else if (*known) {
    exchange.context.metrics.idempotent_replays.Increment();
    response.emplace();
    response->status = (*known)->status;
    response->body = std::move((*known)->body);
  }
  co_return response;
}

}  // namespace tallyd
