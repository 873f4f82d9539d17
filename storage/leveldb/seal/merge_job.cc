#include "storage/leveldb/seal/merge_job.h"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/leveldb/seal/merge_policy.h"

namespace tallyd {

Result<Progress> RewriteFiles(SealContext* context, const View::Files& from,
                              std::function<Status()> yield) {
  Result<std::unique_ptr<Lease>> lease = context->database().NewLeaseOfFiles();
  if (!lease) return lease.error();
  Result<MergedFiles> merged = MergeFiles(context->Input(std::move(yield)), lease->get(), from);
  lease->reset();
  const bool damaged =
      std::any_of(from.begin(), from.end(), [](const auto& file) { return file->is_damaged(); });
  if (!merged && damaged) return Progress::kSome;
  if (!merged) return merged.error();
  // Deletes of the newest head have been applied: a power cut must not undo them alone.
  const Status synced =
      context->config().sync == Sync::kAlways ? Status() : context->database().SyncNewestHead();
  if (!synced) {
    for (const BlockFilePtr& file : merged->files) file->Drop();
    return synced.error();
  }
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : merged->files) bytes += file->info().bytes;
  const Status replaced = context->Replace(context->NewBatch(), from, merged->files, nullptr);
  if (!replaced) return replaced.error();
  context->metrics().merged_entries.Increment(static_cast<double>(merged->entries));
  context->metrics().merged_bytes.Increment(static_cast<double>(bytes));
  return Progress::kSome;
}

Result<Progress> MergeJob::Work(const ViewPtr& view) {
  if (idle_.lock() == view && !context_.settle.active) return Progress::kNone;
  const View::Files chosen = Choose(*view);
  if (chosen.empty()) {
    if (!context_.settle.active) idle_ = view;
    return Progress::kNone;
  }
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : chosen) bytes += file->info().bytes;
  const Status room = context_.NeedRoom(bytes);
  if (!room) return room.error();
  return RewriteFiles(&context_, chosen, yield_);
}

// Empty: nothing.
View::Files MergeJob::Choose(const View& view) const {
  const SettleGoal& settle = context_.settle;
  for (const auto& [table, files] : view.files) {
    std::map<std::pair<int64_t, TimeUs>, View::Files> windows;
    for (const BlockFilePtr& file : *files) {
      if (file->is_damaged()) continue;
      if (settle.active && file->info().max_sequence > settle.sequence) continue;
      windows[{file->info().width, file->info().window}].push_back(file);
    }
    for (const auto& [window, of_window] : windows) {
      std::vector<uint64_t> sizes;
      for (const BlockFilePtr& file : of_window) sizes.push_back(file->info().bytes);
      const auto places = settle.active ? ChooseWholeMerge(sizes) : ChooseMerge(sizes);
      if (places.size() < 2) continue;
      View::Files chosen;
      for (const size_t place : places) chosen.push_back(of_window[place]);
      return chosen;
    }
  }
  return {};
}

}  // namespace tallyd
