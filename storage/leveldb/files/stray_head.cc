#include "storage/leveldb/files/stray_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/directory.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/torn_tail.h"
#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {
namespace {

constexpr uint64_t kHeadBytes = 1u << 20;

StrayHead OnlyCopy(std::string reason) { return {false, std::move(reason)}; }

// Over changes in memory, as a start opens one. It was synced when it was closed.
Result<std::shared_ptr<Head>> OpenToLook(OverlayEnv* env, const std::string& path,
                                         uint64_t number) {
  const Result<WalCheck> logs = CheckWriteAheadLogs(env, path, Sync::kAlways);
  if (!logs) return logs.error();
  const Status cut = CutTails(env, logs->tails);
  if (!cut) return cut.error();
  leveldb::Options options;
  options.env = env;
  options.paranoid_checks = true;
  Result<std::shared_ptr<Head>> head = Head::OpenAt(path, number, options, kHeadBytes);
  env->Freeze();
  return head;
}

// CURRENT is the first of a head's files to be removed: what has none, and was sealed, is left of a
// removal.
Result<StrayHead> JudgeWithoutCurrent(leveldb::Env* env, const std::string& path, bool is_noted) {
  if (is_noted) return StrayHead{true, {}};
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(path, &names));
  if (!listed) return listed.error();
  const bool has_data = std::ranges::any_of(names, [](const std::string& name) {
    return name.ends_with(".log") || name.ends_with(".ldb");
  });
  return has_data ? OnlyCopy("its CURRENT is missing") : StrayHead{true, {}};
}

Result<StrayHead> JudgeContents(leveldb::Env* env, const Head& head, const FilesOnRecord& record,
                                bool any_missing) {
  if (head.bytes() == 0) return StrayHead{true, {}};
  const Result<std::string> store = head.StoreId();
  if (!store) return store.error();
  if (!store->empty() && *store != record.store) {
    return OnlyCopy("it is a head of the store " + HexOfStoreId(*store));
  }
  const Result<uint64_t> entries = head.Checksum();
  if (!entries) return entries.error();
  const Result<uint64_t> others = head.ChecksumOfOthers();
  if (!others) return others.error();
  const auto note = record.head_notes.find(head.number());
  const bool is_noted = note != record.head_notes.end();
  if (is_noted && note->second != HeadNote{*entries, *others}) {
    return OnlyCopy("it is not as the head of that number was when it was sealed");
  }
  StrayJudge files(env, &record, any_missing);
  const Result<std::optional<bool>> made =
      files.HasAllMadeOf({FileSource::Kind::kHead, head.number(), *entries});
  if (!made) return made.error();
  if (any_missing || (*made && !**made)) {
    return OnlyCopy("a file that base names is not here as it was");
  }
  if (is_noted || *made || store->empty()) return StrayHead{true, {}};
  return OnlyCopy("nothing that base names says that it was made of it");
}

}  // namespace

Result<StrayHead> JudgeHead(leveldb::Env* env, const std::string& path, uint64_t number,
                            const FilesOnRecord& record, bool any_missing) {
  const Result<bool> is_whole = IsThere(env, path + "/CURRENT");
  if (!is_whole) return is_whole.error();
  if (!*is_whole) {
    return JudgeWithoutCurrent(env, path, record.head_notes.contains(number) && !any_missing);
  }
  OverlayEnv overlay(env);
  Result<std::shared_ptr<Head>> head = OpenToLook(&overlay, path, number);
  Result<StrayHead> judged = head ? JudgeContents(env, **head, record, any_missing)
                                  : Result<StrayHead>(head.error());
  if (head) (*head)->Close();
  if (judged || judged.error().code() != ErrorCode::kCorruption) return judged;
  return OnlyCopy("it cannot be read: " + judged.error().message());
}

}  // namespace tallyd
