#include "storage/leveldb/tools/transfer.h"

#include <unistd.h>

#include <memory>

#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr size_t kCopyBytes = 1u << 20;

Status Copy(StoreEnv* env, const std::string& from, const std::string& to, ToolProgress* progress) {
  leveldb::SequentialFile* opened = nullptr;
  Status done = FromLevelDb(env->NewSequentialFile(from, &opened));
  const std::unique_ptr<leveldb::SequentialFile> in(opened);
  leveldb::WritableFile* made = nullptr;
  if (done) done = FromLevelDb(env->NewWritableFile(to, &made));
  const std::unique_ptr<leveldb::WritableFile> out(made);
  const std::unique_ptr<char[]> buffer(new char[kCopyBytes]);
  while (done) {
    if (progress->stop) return Error(ErrorCode::kCancelled, "it was stopped");
    leveldb::Slice part;
    done = FromLevelDb(in->Read(kCopyBytes, &part, buffer.get()));
    if (done && part.empty()) break;
    if (done) done = FromLevelDb(out->Append(part));
    progress->done += part.size();
  }
  if (done) done = FromLevelDb(out->Sync());
  return done ? FromLevelDb(out->Close()) : done;
}

}  // namespace

bool Link(const std::string& from, const std::string& to) {
  return ::link(from.c_str(), to.c_str()) == 0;
}

Status LinkOrCopy(StoreEnv* env, const std::string& from, const std::string& to,
                  ToolProgress* progress, TransferCounts* counts) {
  if (env->FileExists(to)) return Error(ErrorCode::kConflict, to + " is there already");
  if (Link(from, to)) {
    ++counts->linked;
    return {};
  }
  const Status copied = Copy(env, from, to, progress);
  if (!copied) {
    ::unlink(to.c_str());
    return copied;
  }
  uint64_t bytes = 0;
  env->GetFileSize(to, &bytes).ok();
  ++counts->copied;
  counts->copied_bytes += bytes;
  return {};
}

Status ReplaceFile(StoreEnv* env, const std::string& path, std::string_view bytes) {
  const std::string made = path + ".new";
  leveldb::WritableFile* opened = nullptr;
  Status done = FromLevelDb(env->NewWritableFile(made, &opened));
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  if (done) done = FromLevelDb(file->Append(ToSlice(bytes)));
  if (done) done = FromLevelDb(file->Sync());
  if (done) done = FromLevelDb(file->Close());
  if (done) done = FromLevelDb(env->RenameFile(made, path));
  if (!done) ::unlink(made.c_str());
  return done;
}

Status MakeDirectory(StoreEnv* env, const std::string& path) {
  return env->FileExists(path) ? Status() : FromLevelDb(env->CreateDir(path));
}

}  // namespace tallyd
