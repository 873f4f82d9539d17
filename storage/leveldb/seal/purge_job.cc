#include "storage/leveldb/seal/purge_job.h"

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/seal/merge_job.h"

namespace tallyd {
namespace {

// A file is worth writing again when at least one in so many of its entries is hidden.
constexpr uint64_t kHiddenShare = 4;
// Readers look at every delete of a table for every row: so many are borne.
constexpr size_t kManyDeletes = 64;

TimeUs Now(const SealContext& context) { return context.clock().Now(); }

}  // namespace

Result<Progress> PurgeJob::Work(const ViewPtr& view) {
  if (view->deletes.empty()) return Progress::kNone;
  const bool same = idle_.lock() == view && !context_.settle.active;
  if (same && std::chrono::steady_clock::now() < next_) return Progress::kNone;
  next_ = kNever;
  for (const auto& [table, deletes] : view->deletes) {
    const Result<Progress> purged = Purge(*view, table);
    if (!purged || *purged == Progress::kSome) return purged;
  }
  idle_ = view;
  return Progress::kNone;
}

Result<Progress> PurgeJob::Purge(const View& view, TableId table) {
  const DeleteList& deletes = view.DeletesOf(table);
  std::map<uint64_t, Touched> touched;  // By number of the file.
  for (const auto& deleted : deletes) {
    if (deleted->sequence > context_.state().sealed_sequence) continue;
    bool hides_any = false;
    for (const BlockFilePtr& file : view.FilesOf(table)) {
      const std::optional<uint64_t> hidden = CountHidden(file, *deleted);
      hides_any = hides_any || hidden != 0;
      if (!hidden || *hidden == 0) continue;
      Touched& of_file = touched[file->info().number];
      of_file.file = file;
      of_file.hidden += *hidden;
      of_file.oldest = std::min(of_file.oldest, deleted->at);
    }
    if (hides_any) continue;
    const Status forgotten = Forget(*deleted);
    if (!forgotten) return forgotten.error();
    return Progress::kSome;
  }
  for (const auto& [number, of_file] : touched) {
    if (!IsDue(of_file, deletes.size())) continue;
    const Status room = context_.NeedRoomToFree(of_file.file->info().bytes);
    if (!room) return room.error();
    return RewriteFiles(&context_, {of_file.file}, yield_);
  }
  return Progress::kNone;
}

std::optional<uint64_t> PurgeJob::CountHidden(const BlockFilePtr& file,
                                              const DeleteRange& deleted) {
  if (!deleted.Touches(file->first_key(), file->last_key(), file->info().deletes) ||
      !file->info().Overlaps(deleted.what.cells)) {
    return 0;
  }
  std::set<uint64_t>& untouched = untouched_[deleted.sequence];
  if (untouched.contains(file->info().number)) return 0;
  if (file->is_damaged()) return std::nullopt;
  const Result<BlockIndexPtr> index = file->Index();
  if (!index) return std::nullopt;
  const KeyRange& rows = deleted.what.rows;
  uint64_t hidden = 0;
  const auto& blocks = (*index)->blocks();
  for (size_t i = (*index)->FindBlock(rows.start); i < blocks.size(); ++i) {
    if (!rows.end.empty() && blocks[i].first_key >= rows.end) break;
    if (blocks[i].Overlaps(deleted.what.cells)) hidden += blocks[i].entries;
  }
  if (hidden == 0) untouched.insert(file->info().number);
  return hidden;
}

bool PurgeJob::IsDue(const Touched& touched, size_t deletes) {
  if (context_.settle.active || deletes > kManyDeletes) return true;
  if (touched.hidden >= touched.file->info().entries / kHiddenShare) return true;
  // It takes its time, too.
  const int64_t patience = context_.config().purge_deadline_us / 4 * 3;
  const TimeUs left = touched.oldest + patience - Now(context_);
  if (left <= 0) return true;
  next_ = std::min(next_, LookAgain(left));
  return false;
}

Status PurgeJob::Forget(const DeleteRange& deleted) {
  auto batch = context_.NewBatch();
  batch->DropRecord(DeleteKey(deleted.table, deleted.sequence));
  const Status forgotten = context_.Replace(std::move(batch), {}, {},
                                            [&](View* changed) { changed->RemoveDelete(deleted); });
  if (forgotten) untouched_.erase(deleted.sequence);
  return forgotten;
}

}  // namespace tallyd
