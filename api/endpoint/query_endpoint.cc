#include "api/endpoint/query_endpoint.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "api/endpoint/compress.h"
#include "api/endpoint/keyed.h"
#include "api/endpoint/place.h"
#include "api/endpoint/waits.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr size_t kMaxWaitingQueries = 1024;

}  // namespace

asio::awaitable<Response> InlineEndpoint::Answer() { co_return handler_(request(), context()); }

// The handler and the first step of its source: what fails until then is a problem answer, and an
// answer of one chunk is sent whole.
Response QueryEndpoint::Run() {
  try {
    Response response = handler_(request(), context());
    // What it asks for may be new, and known to another daemon.
    const bool asks = request().method == Method::kGet || request().method == Method::kDelete;
    if (asks && response.status == 400 && context().store.AskForFields()) {
      response = handler_(request(), context());
    }
    PullFirstChunk(&response);
    CompressResponse(NegotiateEncoding(request().accept_encoding), &response);
    return response;
  } catch (const std::exception& e) {
    spdlog::error("a handler threw: {}", e.what());  // A mistake of this program: each counts.
    return Problem(500, "internal error");
  }
}

asio::awaitable<Response> QueryEndpoint::Answer() {
  const EndpointThreads& threads = exchange_.threads;
  if (threads.waiting_queries >= kMaxWaitingQueries) {
    co_return Problem(503, "too many queries wait already");
  }
  const Place place(threads.waiting_queries);
  request().body = exchange_.body.bytes;
  const Principal* const principal = request().principal.get();
  request().memory = std::make_shared<ReadMemory>(
      context().query_memory, principal == nullptr ? std::string_view() : principal->name);
  ReadMemory& memory = *request().memory;
  std::chrono::steady_clock::duration patience = kPatienceForRoom;
  Response response;
  while (true) {
    std::function<void()> job = [this, &response] { response = Run(); };
    co_await RunBlocking(pool_, std::move(job));
    // What an answer that has begun lacks comes later; and another mistake is nothing to wait for.
    if (response.status != 503 || !memory.lacks_room()) break;
    // It waits with nothing in its hands: what it lacks may be what others like it hold.
    Response refusal = std::exchange(response, Response());
    const bool has_room = co_await AwaitRoom(memory, threads.draining, &patience);
    if (!has_room) {
      response = std::move(refusal);
      break;
    }
  }
  memory.Trim();
  co_return response;
}

std::optional<Response> KeyedQueryEndpoint::Admit() { return RefusalOfKey(exchange_, *this); }

asio::awaitable<Response> KeyedQueryEndpoint::Answer() {
  std::unique_ptr<KeyClaim> claim;
  if (request().idempotency_key) {
    request().body = exchange_.body.bytes;
    KeyedRequest keyed = describe_(request());
    std::optional<Response> known =
        co_await AnswerByKey(exchange_, *this, std::move(keyed), &claim);
    if (known) co_return std::move(*known);
    request().claim = claim.get();
  }
  Response response = co_await QueryEndpoint::Answer();
  request().claim = nullptr;
  co_return response;
}

}  // namespace tallyd
