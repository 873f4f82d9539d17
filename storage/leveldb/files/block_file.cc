#include "storage/leveldb/files/block_file.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

constexpr std::string_view kSuffix = ".blocks";
constexpr size_t kOpenFiles = 96;
constexpr uint64_t kMaxIndexBytes = 1u << 30;

// A lack of the process's own, not of the file.
bool IsPassing(const Error& error) {
  if (error.code() != ErrorCode::kIo) return false;
  const auto says = [&](int number) {
    return error.message().find(std::strerror(number)) != std::string::npos;
  };
  return says(EMFILE) || says(ENFILE) || says(ENOMEM);
}

}  // namespace

BlockFileShelf::BlockFileShelf(StoreEnv* env, std::string directory, leveldb::Cache* cache)
    : env_(env),
      directory_(std::move(directory)),
      indexes_(cache),
      handles_(leveldb::NewLRUCache(kOpenFiles)),
      cache_id_(cache->NewId()) {}

std::string BlockFileShelf::PathOf(uint64_t number) const {
  return fmt::format("{}/{:06}{}", directory_, number, kSuffix);
}

void BlockFileShelf::AddRemoved(uint64_t number) {
  const std::lock_guard lock(removed_mutex_);
  removed_.push_back(number);
}

void BlockFileShelf::SyncRemovals() {
  std::vector<uint64_t> removed;
  {
    const std::lock_guard lock(removed_mutex_);
    removed.swap(removed_);
  }
  if (removed.empty() || !SyncDirectory()) return;
  const std::lock_guard lock(removed_mutex_);
  gone_.insert(gone_.end(), removed.begin(), removed.end());
}

std::vector<uint64_t> BlockFileShelf::TakeGone() {
  const std::lock_guard lock(removed_mutex_);
  return std::exchange(gone_, {});
}

std::string BlockFileShelf::CacheKey(uint64_t number) const {
  std::string key;
  PutU64(&key, cache_id_);
  PutU64(&key, number);
  return key;
}

template <class T>
std::shared_ptr<const T> BlockFileShelf::Find(leveldb::Cache* cache, uint64_t number) {
  leveldb::Cache::Handle* handle = cache->Lookup(CacheKey(number));
  if (handle == nullptr) return nullptr;
  const auto* found = static_cast<const T*>(cache->Value(handle));
  return std::shared_ptr<const T>(found, [cache, handle](const T*) { cache->Release(handle); });
}

template <class T>
std::shared_ptr<const T> BlockFileShelf::Keep(leveldb::Cache* cache, uint64_t number,
                                              std::unique_ptr<const T> t, size_t charge) {
  const T* kept = t.release();
  leveldb::Cache::Handle* handle =
      cache->Insert(CacheKey(number), const_cast<T*>(kept), charge,
                    [](const leveldb::Slice&, void* value) { delete static_cast<T*>(value); });
  return std::shared_ptr<const T>(kept, [cache, handle](const T*) { cache->Release(handle); });
}

BlockFile::~BlockFile() {
  if (!dropped_) return;
  const std::string key = shelf_->CacheKey(info_.number);
  shelf_->indexes_->Erase(key);
  shelf_->handles_->Erase(key);
  shelf_->damaged_.Forget(info_.number);
  if (shelf_->env_->RemoveFile(path()).ok()) {
    shelf_->AddRemoved(info_.number);
  } else {
    spdlog::warn("store: {} cannot be removed yet", path());
  }
}

void BlockFile::ReportDamage(const Error& error) const {
  if (!IsPassing(error)) shelf_->damaged_.Report({info_.number, path(), error.message()});
}

Error BlockFile::Damaged(const Error& error) const {
  ReportDamage(error);
  const Error named = error.Prefixed(path());
  // A file that is gone is damage, not a question for something that does not exist.
  if (error.code() == ErrorCode::kNotFound) return Error(ErrorCode::kCorruption, named.message());
  return named;
}

Result<FileHandlePtr> BlockFile::Handle() const {
  if (auto open = shelf_->Find<leveldb::RandomAccessFile>(shelf_->handles_.get(), info_.number)) {
    return FileHandlePtr(std::move(open));
  }
  leveldb::RandomAccessFile* file = nullptr;
  const Status opened = FromLevelDb(shelf_->env_->NewRandomAccessFile(path(), &file));
  if (!opened) return opened.error();
  return shelf_->Keep(shelf_->handles_.get(), info_.number,
                      std::unique_ptr<const leveldb::RandomAccessFile>(file), 1);
}

Result<std::string> BlockFile::ReadAt(uint64_t offset, uint64_t size) const {
  const Result<FileHandlePtr> file = Handle();
  if (!file) return file.error();
  std::string bytes(size, '\0');
  leveldb::Slice read;
  const Status done = FromLevelDb((*file)->Read(offset, size, &read, bytes.data()));
  if (!done) return done.error();
  if (read.size() != size) return Error(ErrorCode::kCorruption, "the file is too short");
  if (read.data() != bytes.data()) bytes.assign(read.data(), read.size());
  return bytes;
}

Result<BlockIndexPtr> BlockFile::Index() const {
  if (auto known = shelf_->Find<BlockIndex>(shelf_->indexes_, info_.number)) {
    return BlockIndexPtr(std::move(known));
  }
  Result<BlockIndexPtr> index = ReadIndex();
  if (!index) return Damaged(index.error());
  return index;
}

Result<BlockIndexPtr> BlockFile::ReadIndex() const {
  const Error malformed(ErrorCode::kCorruption, "the index is malformed");
  if (info_.bytes < BlockFileFooter::kBytes) return malformed;
  const Result<std::string> end =
      ReadAt(info_.bytes - BlockFileFooter::kBytes, BlockFileFooter::kBytes);
  if (!end) return end.error();
  BlockFileFooter footer;
  if (!DecodeFooter(*end, info_.bytes, &footer)) {
    return Error(ErrorCode::kCorruption, "its end is malformed");
  }
  if (footer.description_checksum != info_.checksum) {
    return Error(ErrorCode::kCorruption, "it is another file than the one that was recorded");
  }
  const uint64_t size = info_.bytes - BlockFileFooter::kBytes - footer.index;
  if (size > kMaxIndexBytes) return malformed;
  const Result<std::string> bytes = ReadAt(footer.index, size);
  if (!bytes) return bytes.error();
  const uint64_t index_size = footer.description - footer.index;
  const std::string_view of_index = std::string_view(*bytes).substr(0, index_size);
  if (Checksum64(of_index) != footer.index_checksum) return malformed;
  if (Checksum64(std::string_view(*bytes).substr(index_size)) != footer.description_checksum) {
    return Error(ErrorCode::kCorruption, "the description is malformed");
  }
  Result<BlockIndex> index = DecodeBlockIndex(of_index, footer.index);
  if (!index) return index.error();
  const size_t charge = index->bytes();
  return shelf_->Keep(shelf_->indexes_, info_.number,
                      std::make_unique<const BlockIndex>(std::move(*index)), charge);
}

Status BlockFile::Read(const BlockPlace& block, uint32_t offset, uint32_t size,
                       std::string* bytes) const {
  if (offset > block.size || size > block.size - offset) {
    return Damaged(Error(ErrorCode::kCorruption, "a block reaches beyond its end"));
  }
  const Result<FileHandlePtr> file = Handle();
  if (!file) return Damaged(file.error());
  bytes->resize(size);
  leveldb::Slice read;
  const Status done = FromLevelDb((*file)->Read(block.offset + offset, size, &read, bytes->data()));
  if (!done) return Damaged(done.error());
  if (read.size() != size) {
    return Damaged(Error(ErrorCode::kCorruption, "the file is too short"));
  }
  if (read.data() != bytes->data()) bytes->assign(read.data(), read.size());
  return {};
}

std::string BlockFilesDirectory(const std::string& path) { return path + "/blocks"; }

}  // namespace tallyd
