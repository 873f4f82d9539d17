#include "storage/leveldb/env/torn_tail.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

Status WriteFile(leveldb::Env* env, const std::string& name, std::string_view bytes) {
  leveldb::WritableFile* opened = nullptr;
  Status done = FromLevelDb(env->NewWritableFile(name, &opened));
  if (!done) return done;
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  done = FromLevelDb(file->Append(ToSlice(bytes)));
  if (done) done = FromLevelDb(file->Sync());
  if (done) done = FromLevelDb(file->Close());
  return done;
}

constexpr int kMostKept = 10'000;

Status CutTail(leveldb::Env* env, const TornTail& tail) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, tail.file, &bytes));
  if (!read) return read;
  const std::string_view all(bytes);
  if (all.find_last_not_of('\0') + 1 != tail.begin + tail.bytes) {
    return Error(ErrorCode::kIo, tail.file + " changed while it was being opened");
  }
  std::string kept;
  // Of a file of which nobody knows whether it exists the Env says that it does.
  for (int i = 1; kept.empty() || env->FileExists(kept); ++i) {
    if (i > kMostKept) return Error(ErrorCode::kIo, "no name is free for " + kept);
    kept = fmt::format("{}.torn-{}", tail.file, i);
  }
  const std::string cut = tail.file + ".cut";
  Status done = WriteFile(env, kept, all.substr(tail.begin, tail.bytes));
  if (done) done = WriteFile(env, cut, all.substr(0, tail.begin));
  if (done) return FromLevelDb(env->RenameFile(cut, tail.file));
  // As on a full disk, where every attempt would leave another.
  env->RemoveFile(kept);
  env->RemoveFile(cut);
  return done;
}

}  // namespace

Status CutTails(leveldb::Env* env, std::span<const TornTail> tails) {
  for (const TornTail& tail : tails) {
    const Status cut = tail.must_be_cut ? CutTail(env, tail) : Status();
    if (!cut) return cut;
  }
  return {};
}

}  // namespace tallyd
