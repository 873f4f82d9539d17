#include "service/removal/latest_restorer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "service/removal/restore_pass.h"

namespace tallyd {
namespace {

constexpr auto kRetry = std::chrono::seconds(1);
// Of so many that wait it is kept in memory what their tables lost; of others nobody knows then.
constexpr size_t kMostWithLost = 16;

}  // namespace

Status LatestRestorer::Open() {
  Result<std::vector<RemovalNote>> notes = ReadRemovalNotes(*parts_.store);
  if (!notes) return notes.error();
  const std::lock_guard lock(mutex_);
  for (RemovalNote& note : *notes) {
    next_number_ = std::max(next_number_.load(), note.number + 1);
    tasks_.push_back(std::make_unique<RestoreTask>());
    tasks_.back()->note = std::move(note);
    tasks_.back()->has_waited = true;
  }
  return {};
}

void LatestRestorer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void LatestRestorer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<RestoreTask> LatestRestorer::NewTask(RemovalNote note) {
  auto task = std::make_unique<RestoreTask>();
  task->note = std::move(note);
  task->note.number = next_number_++;
  return task;
}

void LatestRestorer::PutNote(const RestoreTask& task, Batch* batch) {
  batch->PutMemo(RemovalNoteKey(task.note.number), EncodeRemovalNote(task.note),
                 NoteOrder::kBefore);
}

void LatestRestorer::Add(std::unique_ptr<RestoreTask> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_all();
}

size_t LatestRestorer::pending() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

size_t LatestRestorer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void LatestRestorer::Run() {
  std::string told;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto has_work = [this] { return stopping_ || !tasks_.empty(); };
    if (tasks_.empty() && waiting_.empty()) {
      wake_.wait(lock, has_work);
      continue;
    }
    if (tasks_.empty()) wake_.wait_for(lock, kRetry, has_work);
    if (stopping_) continue;
    lock.unlock();
    const Status done = Look();
    lock.lock();
    if (done || stopping_) continue;
    if (std::exchange(told, done.error().message()) != done.error().message()) {
      spdlog::warn("latest rows are not what history implies yet: {}", done.error().message());
    }
    wake_.wait_for(lock, kRetry, [this] { return stopping_.load(); });
  }
}

// What waits is looked at again under every schema.
void LatestRestorer::TakeWaiting() {
  std::shared_ptr<const SchemaSnapshot> now = parts_.live_schema->snapshot();
  if (seen_ == now) return;
  seen_ = std::move(now);
  const std::lock_guard lock(mutex_);
  for (auto& task : waiting_) tasks_.push_back(std::move(task));
  waiting_.clear();
}

Status LatestRestorer::Look() {
  const std::lock_guard work(work_mutex_);
  TakeWaiting();
  while (true) {
    RestoreTask* task = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || tasks_.empty()) return {};
      task = tasks_.front().get();
    }
    const Result<bool> done = Restore(task);
    if (!done) return done.error();
    const std::lock_guard lock(mutex_);
    if (!*done) {
      if (waiting_.size() >= kMostWithLost) task->lost.clear();
      task->has_waited = true;
      waiting_.push_back(std::move(tasks_.front()));
    }
    tasks_.pop_front();
  }
}

Result<bool> LatestRestorer::Restore(RestoreTask* task) {
  Store& store = *parts_.store;
  // A removal that failed may be there all the same, and its note with it.
  const Result<std::optional<std::string>> noted =
      store.FindMemo(RemovalNoteKey(task->note.number));
  if (!noted) return noted.error();
  if (!*noted) return true;
  Result<std::vector<TableId>> awaited = RestoreLatest({parts_, stopping_}, task);
  if (!awaited) return awaited.error();
  const bool is_done = awaited->empty();
  if (!is_done && *awaited == task->note.tables) return false;
  task->note.tables = std::move(*awaited);
  std::unique_ptr<Batch> batch = store.NewBatch();
  if (is_done) {
    batch->DropMemo(RemovalNoteKey(task->note.number));
  } else {
    PutNote(*task, batch.get());
  }
  if (Status committed = store.Commit(std::move(batch)); !committed) return committed.error();
  return is_done;
}

}  // namespace tallyd
