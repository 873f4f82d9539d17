// The writing half of a session: a batch is mapped, committed and answered.
#include <boost/asio/post.hpp>
#include <utility>

#include "api/http/session.h"
#include "api/http/wire.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr size_t kUsualAnswerBytes = 512;

}  // namespace

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
  PreparedBatch prepared = PrepareIngest(*ingest_, body, context_, workspace_->ingest);
  // The next request finds it in the cache: nothing of it is needed while the batch is written.
  body_ = {};
  buffer_.consume(std::exchange(buffered_body_, 0));
  shard_.GiveBack(std::move(workspace_));
  if (prepared.response) {
    response_ = std::move(*prepared.response);
  } else {
    co_await CommitAndAnswer(std::move(prepared));
  }
}

// Who waits for the next request meanwhile is woken by it, and not by an answer, too.
asio::awaitable<void> Session::CommitAndAnswer(PreparedBatch prepared) {
  // A key is free once its answer is there, so this one is waited for.
  const bool listens = keep_alive_ && !claim_ && buffer_.size() == 0;
  prepared_ = std::move(prepared);
  commit_phase_ = CommitPhase::kRuns;
  {
    // What was submitted is committed in that order: who comes next may note times in its place.
    const auto arrivals = std::move(prepared_.arrivals);
    context_.store.Submit(std::move(prepared_.batch), [this, listens](const Status& committed) {
      AnswerCommitted(committed, listens);
    });
  }
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
  // Of time that passed the next header's deadline knows more: it begins with the answer.
  co_return ec != asio::error::operation_aborted;
}

// On the store's thread, or on the connection's if the batch was not queued. Until the phase is
// left nothing that is used here is touched by the other one; from then on the session may end.
void Session::AnswerCommitted(const Status& committed, bool listens) {
  try {
    PreparedBatch prepared = std::move(prepared_);
    response_ = AnswerIngest(*ingest_, prepared, committed, context_);
    std::string answer;
    answer.reserve(kUsualAnswerBytes);
    AppendHead(response_, MakeHeadOptions(), &answer);
    answer += response_.body;
    CountAnswer();
    const size_t sent = socket_.SendNow(answer);
    context_.metrics.sent_bytes.Increment(static_cast<double>(sent));
    unsent_ = answer.substr(sent);
    response_ = Response();
    idle_since_ = std::chrono::steady_clock::now();
    is_answered_ = true;
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (listens && (failure_ || !unsent_.empty() || !keep_alive_)) {
    asio::post(shard_.io, [self = shared_from_this()] { self->EndListening(); });
  }
  CommitPhase runs = CommitPhase::kRuns;
  if (commit_phase_.compare_exchange_strong(runs, CommitPhase::kIsOver)) return;
  // It is awaited, and over when its thread says so: the session is there until then.
  asio::post(shard_.io, [self = shared_from_this()] {
    self->commit_phase_ = CommitPhase::kIsOver;
    self->commit_end_.cancel();
  });
}

// May come late, and ends a wait for the next request but one then, which waits again.
void Session::EndListening() {
  if (listens_) socket_.EndWait();
}

}  // namespace tallyd
