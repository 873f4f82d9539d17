#include "storage/leveldb/seal/seal_context.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kRecordBytes = 256u << 10;
// Of a file that cannot be read: from one try to the next it is twice as long.
constexpr auto kFirstAside = std::chrono::seconds(1);
constexpr auto kLongestAside = std::chrono::seconds(64);
// Nobody waits for what has failed so often, and for so long.
constexpr uint64_t kTriesOfUnreadable = 6;
constexpr auto kTimeOfUnreadable = std::chrono::minutes(2);

}  // namespace

RewriteInput SealContext::Input(std::function<Status()> yield) const {
  return {&database(),      &state(),        parts_.pacer,           parts_.stopping,
          std::move(yield), retention_now(), config().seal_window_us, engine().block_bounds()};
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
                            const View::Files& made, const std::function<void(View*)>& change,
                            const std::map<TableId, MergesFound>& merges) {
  for (const BlockFilePtr& file : from) {
    batch->DropRecord(BlockFileKey(file->info().table, file->info().number));
    const FileNote note{FileNote::Kind::kDropped, {}, file->info().checksum};
    batch->PutRecord(FileNoteKey(file->info().number), EncodeFileNote(note));
  }
  for (const BlockFilePtr& file : made) {
    batch->PutRecord(BlockFileKey(file->info().table, file->info().number),
                     EncodeBlockFile(file->info()));
  }
  const MergeCounts::Written unwritten = state().merges.Unwritten();
  for (const auto& [key, value] : unwritten) batch->PutRecord(key, value);
  for (const auto& [table, found] : merges) {
    const auto [key, value] = state().merges.RecordWith(table, found);
    batch->PutRecord(key, value);
  }
  Status status = Commit(std::move(batch), [&] {
    state().merges.WasWritten(unwritten);
    for (const auto& [table, found] : merges) state().merges.Count(table, found);
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

void SealContext::SetAside(const BlockFile& file, const Error& error) {
  const auto now = std::chrono::steady_clock::now();
  const auto [place, is_new] = aside_.try_emplace(file.info().number);
  Aside& aside = place->second;
  if (is_new) {
    aside.since = now;
    spdlog::warn("store: left alone for a while, since it cannot be read: {}", error.message());
  }
  aside.error = error;
  aside.settle = settle.active ? settle.number : 0;
  const auto pause = kFirstAside * (1 << std::min<uint64_t>(aside.tries++, 6));
  aside.until = now + std::min<SealJob::Time::duration>(pause, kLongestAside);
  if (aside.tries < kTriesOfUnreadable || now - aside.since < kTimeOfUnreadable) return;
  file.ReportDamage(Error(ErrorCode::kCorruption, error.message()));
  aside_.erase(place);
}

bool SealContext::IsSetAside(uint64_t number) const {
  const auto found = aside_.find(number);
  if (found == aside_.end()) return false;
  if (settle.active) return found->second.settle == settle.number;
  return std::chrono::steady_clock::now() < found->second.until;
}

SealJob::Time SealContext::next_of_aside() const {
  const auto now = std::chrono::steady_clock::now();
  SealJob::Time next = SealJob::kNever;
  for (const auto& [number, aside] : aside_) {
    if (aside.until > now) next = std::min(next, aside.until);
  }
  return next;
}

std::optional<Error> SealContext::LeftBySettle() const {
  for (const auto& [number, aside] : aside_) {
    if (settle.active && aside.settle == settle.number) return aside.error;
  }
  return std::nullopt;
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
