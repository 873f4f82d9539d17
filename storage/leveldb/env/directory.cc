#include "storage/leveldb/env/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kStoreMode = 0700;

Error NotMade(const fs::path& path, const std::string& why) {
  return Error(ErrorCode::kIo, fmt::format("{} cannot be made: {}", path.string(), why));
}

// One that may be searched and not read cannot be synced.
Status SyncName(const fs::path& path) {
  const fs::path parent = path.parent_path();
  const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return {};
  int failed = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (failed == 0 || failed == EINVAL) return {};  // EINVAL: it needs none.
  return Error(ErrorCode::kIo, fmt::format("{}: {}", parent.string(), std::strerror(failed)));
}

}  // namespace

Status MakeStoreDirectory(const std::string& path) {
  std::error_code error;
  fs::path at = fs::absolute(path, error).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();  // It ended in a slash.
  std::vector<fs::path> names{at};
  while (!error && !fs::exists(names.back(), error) && names.back().has_parent_path()) {
    names.push_back(names.back().parent_path());
  }
  if (error) return NotMade(at, error.message());
  if (names.size() > 1) names.pop_back();  // It is there.
  for (size_t i = names.size(); i-- > 0;) {
    const bool made = fs::create_directory(names[i], error);
    if (error) return NotMade(names[i], error.message());
    if (made && i == 0) ::chmod(names[i].c_str(), kStoreMode);
    const Status synced = SyncName(names[i]);
    if (!synced) return synced;
  }
  return {};
}

Result<bool> IsThere(leveldb::Env* env, const std::string& name) {
  uint64_t size = 0;
  const Status found = FromLevelDb(env->GetFileSize(name, &size));
  if (!found && found.error().code() != ErrorCode::kNotFound) return found.error();
  return found.has_value();
}

Result<bool> HoldsAnything(leveldb::Env* env, const std::string& directory) {
  const Result<bool> there = IsThere(env, directory);
  if (!there || !*there) return there;
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(directory, &names));
  if (!listed) return listed.error();
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name != "." && name != ".."; });
}

Status EnsureDirectory(StoreEnv* env, const std::string& name) {
  const Result<bool> there = IsThere(env, name);
  if (!there) return there.error();
  if (!*there) return FromLevelDb(env->CreateDir(name));
  const size_t slash = name.rfind('/');
  return FromLevelDb(env->SyncDirectory(slash == std::string::npos ? "." : name.substr(0, slash)));
}

leveldb::Status ListDirectory(const std::string& name, std::vector<std::string>* names) {
  names->clear();
  const auto close = [](DIR* opened) { ::closedir(opened); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(name.c_str()), close);
  if (!directory) return FromErrno(name, errno);
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    names->push_back(entry->d_name);
  }
  if (errno == 0) return leveldb::Status::OK();
  // Half of the names would pass for all of them.
  names->clear();
  return leveldb::Status::IOError(name, std::strerror(errno));
}

}  // namespace tallyd
