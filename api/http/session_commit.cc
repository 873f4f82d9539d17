// The writing half of a session: a batch is mapped, committed and answered.
#include <boost/asio/post.hpp>
#include <utility>

#include "api/http/session.h"
#include "api/http/wire.h"

namespace tallyd {

namespace asio = boost::asio;

asio::awaitable<void> Session::HandleIngest() {
  std::string_view body = body_;
  if (request_.idempotency_key && !ingest_->dry_run) {
    std::optional<KeyedRequest> keyed =
        KeyedBatch(*request_.idempotency_key, &*ingest_, &body, context_, workspace_->ingest);
    if (keyed) {
      const bool is_new = co_await ClaimKey(std::move(*keyed));
      if (!is_new) co_return;
    }
    ingest_->claim = claim_.get();
  }
  prepared_ = PrepareIngest(*ingest_, body, context_, workspace_->ingest);
  // The next request finds it in the cache: nothing of it is needed while the batch is written.
  body_ = {};
  buffer_.consume(std::exchange(buffered_body_, 0));
  shard_.GiveBack(std::move(workspace_));
  if (prepared_.response) {
    response_ = std::move(*prepared_.response);
  } else {
    co_await CommitAndAnswer();
  }
}

// Who waits for the next request meanwhile is woken by it, and not by an answer, too.
asio::awaitable<void> Session::CommitAndAnswer() {
  // A key is free once its answer is there, so this one is waited for.
  const bool listens = keep_alive_ && !claim_ && buffer_.size() == 0;
  commit_phase_ = CommitPhase::kRuns;
  context_.store.Submit(std::move(prepared_.batch),
                        [this](const Status& committed) { AnswerCommitted(committed); });
  bool is_left = false;
  if (listens) is_left = co_await ListenWhileCommitting();
  CommitPhase runs = CommitPhase::kRuns;
  commit_phase_.compare_exchange_strong(runs, CommitPhase::kIsAwaited);
  while (commit_phase_ != CommitPhase::kIsOver) {
    commit_end_.expires_at(std::chrono::steady_clock::time_point::max());
    co_await commit_end_.async_wait(TimedSocket::kAwait);
  }
  if (failure_) std::rethrow_exception(failure_);
  if (is_left) keep_alive_ = false;
}

asio::awaitable<bool> Session::ListenWhileCommitting() {
  socket_.ExpireAfter(std::chrono::microseconds(context_.server.idle_timeout_us));
  listens_ = true;
  auto [ec, n] = co_await socket_.ReadSome(buffer_.prepare(kReadBytes));
  listens_ = false;
  if (!ec) {
    buffer_.commit(n);
    co_return false;
  }
  if (ec != asio::error::operation_aborted) co_return true;
  // Nobody is idle who waits for an answer.
  co_return socket_.expired() && commit_phase_ == CommitPhase::kIsOver;
}

// On the store's thread, or on the connection's if the batch was not queued. Nothing of the session
// is touched by the other one until the commit is over, nor by this one after it.
void Session::AnswerCommitted(const Status& committed) {
  try {
    response_ = AnswerIngest(*ingest_, prepared_, committed, context_);
    std::string answer;
    AppendHead(response_, MakeHeadOptions(), &answer);
    answer += response_.body;
    CountAnswer();
    const size_t sent = socket_.SendNow(answer);
    context_.metrics.sent_bytes.Increment(static_cast<double>(sent));
    unsent_ = answer.substr(sent);
    is_answered_ = true;
  } catch (...) {
    failure_ = std::current_exception();
  }
  const auto wake = [this] {
    asio::post(shard_.io, [self = shared_from_this()] { self->Wake(); });
  };
  if (failure_ || !unsent_.empty() || !keep_alive_) wake();
  if (commit_phase_.exchange(CommitPhase::kIsOver) == CommitPhase::kIsAwaited) wake();
}

// May come late, and ends a wait of the next request then, which waits again.
void Session::Wake() {
  if (listens_) {
    socket_.EndWait();
  } else {
    commit_end_.cancel();
  }
}

}  // namespace tallyd
