#include "storage/leveldb/seal/seal_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kRecordBytes = 256u << 10;

}  // namespace

RewriteInput SealContext::Input(std::function<Status()> yield) const {
  return {&database(),      &state(),        parts_.pacer,           parts_.stopping,
          std::move(yield), retention_now(), config().seal_window_us};
}

std::unique_ptr<LevelDbBatch> SealContext::NewBatch() const {
  return std::make_unique<LevelDbBatch>(state().fields);
}

Status SealContext::SyncAppliedDeletes() const {
  return config().sync == Sync::kAlways ? Status() : database().SyncNewestHead();
}

Status SealContext::CommitRecords(const Records& records) const {
  auto batch = NewBatch();
  for (const auto& [key, value] : records) {
    if (value.empty()) {
      batch->DropRecord(key);
    } else {
      batch->PutRecord(key, value);
    }
    if (batch->bytes() < kRecordBytes) continue;
    const Status committed = Commit(std::exchange(batch, NewBatch()));
    if (!committed) return committed;
  }
  return batch->empty() ? Status() : Commit(std::move(batch));
}

// The committer's thread alone opens the files, so that what it finds holds until the batch is
// committed.
Status SealContext::Commit(std::unique_ptr<LevelDbBatch> batch,
                           const std::function<void()>& on_success) const {
  batch->CommitAlone([this, more = batch->prepare()]() -> Status {
    if (database().opening() != opening_) return Reopening();
    return more ? more() : Status();
  });
  return parts_.committer->Commit(std::move(batch), on_success);
}

Status SealContext::Replace(std::unique_ptr<LevelDbBatch> batch, const View::Files& from,
                            const View::Files& made, const std::function<void(View*)>& change) {
  for (const BlockFilePtr& file : from) {
    batch->DropRecord(BlockFileKey(file->info().table, file->info().number));
    batch->PutRecord(FileNoteKey(file->info().number), EncodeFileNote({}));
  }
  for (const BlockFilePtr& file : made) {
    batch->PutRecord(BlockFileKey(file->info().table, file->info().number),
                     EncodeBlockFile(file->info()));
  }
  Status status = Commit(std::move(batch), [&] {
    database().ChangeView([&](View* view) {
      view->Replace(from, made);
      if (change) change(view);
    });
  });
  if (!status) {
    uncertain_.insert(uncertain_.end(), made.begin(), made.end());
    uncertain_.insert(uncertain_.end(), from.begin(), from.end());
  }
  return status;
}

Status SealContext::NeedRoom(uint64_t bytes) const {
  const SpaceGuard& space = engine().space();
  const uint64_t free = space.free_bytes();
  if (free >= bytes && free - bytes >= space.keep_free()) return {};
  return Error(ErrorCode::kNoSpace,
               fmt::format("it may take {} bytes, and {} are free", bytes, free));
}

Status SealContext::NeedRoomToFree(uint64_t bytes) const {
  SpaceGuard& space = engine().space();
  if (space.free_bytes() >= bytes) return {};
  space.Release();
  const uint64_t free = space.free_bytes();
  if (free >= bytes) return {};
  return Error(ErrorCode::kNoSpace,
               fmt::format("it takes up to {} bytes for a moment, and {} are free", bytes, free));
}

// A view that was opened before a commit failed does not know whether its records are there: what
// it does not name may be all there is of a head that base calls sealed.
void SealContext::BeginRound(const View& view) {
  opening_ = view.opening;
  if (!engine().KnowsWhatFailed(view)) return;
  for (const BlockFilePtr& file : std::exchange(uncertain_, {})) {
    const View::Files& known = view.FilesOf(file->info().table);
    const bool recorded = std::any_of(known.begin(), known.end(), [&](const BlockFilePtr& other) {
      return other->info().number == file->info().number;
    });
    if (!recorded) file->Drop();
  }
}

}  // namespace tallyd
