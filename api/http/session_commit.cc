// The writing half of a session: a batch is mapped, committed and answered.
#include <functional>
#include <utility>

#include "api/http/blocking_call.h"
#include "api/http/session.h"

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
  PreparedBatch prepared = PrepareIngest(*ingest_, body, context_, workspace_->ingest);
  // The next request finds it in the cache: nothing of it is needed while the batch is written.
  body_ = {};
  buffer_.consume(std::exchange(buffered_body_, 0));
  shard_.GiveBack(std::move(workspace_));
  if (prepared.response) {
    response_ = std::move(*prepared.response);
    co_return;
  }
  std::function<void(CommitDone)> submit = [this, &prepared](CommitDone done) {
    CommitDone note = [this, &prepared, done = std::move(done)](Status committed) {
      if (committed) NoteCommitted(&prepared, context_);
      done(std::move(committed));
    };
    context_.store.Submit(std::move(prepared.batch), std::move(note));
    // What was submitted is committed in that order: who comes next may note times in its place.
    prepared.arrivals.clear();
  };
  const Status committed = co_await AwaitCommit(std::move(submit));
  response_ = AnswerIngest(*ingest_, prepared, committed, context_);
}

}  // namespace tallyd
