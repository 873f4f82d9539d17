#include "storage/leveldb/files/block_file.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr std::string_view kMagic = "tallyblk";
constexpr std::string_view kSuffix = ".blocks";
constexpr uint8_t kRecordVersion = 1;
// offset:u64 of the index, its checksum:u64, magic.
constexpr size_t kFooterBytes = 2 * sizeof(uint64_t) + kMagic.size();
constexpr uint64_t kMaxIndexBytes = 1u << 30;

}  // namespace

std::string BlockFileKey(TableId table, uint64_t number) {
  std::string key = TablePrefix(KeySpace::kBlockFiles, table);
  PutU64(&key, number);
  return key;
}

std::string EncodeBlockFile(const BlockFileInfo& info) {
  std::string record(1, static_cast<char>(kRecordVersion));
  PutVarint(&record, info.sequence);
  PutVarint(&record, info.deletes);
  PutVarint(&record, static_cast<uint64_t>(info.window));
  PutVarint(&record, static_cast<uint64_t>(info.width));
  PutVarint(&record, static_cast<uint64_t>(info.min_time));
  PutVarint(&record, static_cast<uint64_t>(info.max_time));
  PutVarint(&record, info.entries);
  PutVarint(&record, info.bytes);
  return record;
}

Result<BlockFileInfo> DecodeBlockFile(std::string_view key, std::string_view record) {
  BlockFileInfo info;
  ByteReader in_key(key.substr(1));
  ByteReader in(record);
  uint8_t version = 0;
  constexpr auto kMaxTime = static_cast<uint64_t>(kMaxTimeUs);
  const bool good =
      in_key.GetU32(&info.table) && in_key.GetU64(&info.number) && in_key.done() &&
      in.GetByte(&version) && version == kRecordVersion && in.GetVarint(&info.sequence) &&
      in.GetVarint(&info.deletes) && in.GetNumber(&info.window, kMaxTime) &&
      in.GetNumber(&info.width, std::numeric_limits<int64_t>::max()) &&
      in.GetNumber(&info.min_time, kMaxTime) && in.GetNumber(&info.max_time, kMaxTime) &&
      in.GetVarint(&info.entries) && in.GetVarint(&info.bytes) && in.done();
  if (!good) return Error(ErrorCode::kCorruption, "a block file's record is malformed");
  return info;
}

std::string EncodeBlockIndex(const std::vector<BlockPlace>& blocks) {
  std::string index;
  PutVarint(&index, blocks.size());
  for (const BlockPlace& block : blocks) {
    PutVarint(&index, block.size);
    PutVarint(&index, block.head_size);
    PutVarint(&index, block.entries);
    PutVarint(&index, block.rows);
    PutVarint(&index, static_cast<uint64_t>(block.min_time));
    PutVarint(&index, static_cast<uint64_t>(block.max_time - block.min_time));
    PutString(&index, block.first_key);
    PutString(&index, block.last_key);
  }
  const uint64_t offset = blocks.empty() ? 0 : blocks.back().offset + blocks.back().size;
  const uint64_t checksum = XXH3_64bits(index.data(), index.size());
  PutU64(&index, offset);
  PutU64(&index, checksum);
  return index.append(kMagic);
}

BlockFile::~BlockFile() {
  file_.reset();
  if (dropped_ && !env_->RemoveFile(path_).ok()) {
    spdlog::warn("store: {} cannot be removed yet", path_);
  }
}

Result<BlockFilePtr> BlockFile::Open(leveldb::Env* env, const std::string& directory,
                                     const BlockFileInfo& info) {
  std::shared_ptr<BlockFile> blocks(
      new BlockFile(env, BlockFilePath(directory, info.number), info));
  leveldb::RandomAccessFile* file = nullptr;
  const Status opened = FromLevelDb(env->NewRandomAccessFile(blocks->path_, &file));
  if (!opened) return opened.error().Prefixed(blocks->path_);
  blocks->file_.reset(file);
  const Status read = blocks->ReadIndex();
  if (!read) return read.error().Prefixed(blocks->path_);
  return BlockFilePtr(blocks);
}

Status BlockFile::ReadIndex() {
  const Error malformed(ErrorCode::kCorruption, "the index is malformed");
  if (info_.bytes < kFooterBytes) return malformed;
  std::string scratch(kFooterBytes, '\0');
  leveldb::Slice footer;
  Status read =
      FromLevelDb(file_->Read(info_.bytes - kFooterBytes, kFooterBytes, &footer, scratch.data()));
  if (!read) return read;
  if (footer.size() != kFooterBytes || !ToView(footer).ends_with(kMagic)) return malformed;
  const uint64_t offset = DecodeU64(footer.data());
  const uint64_t checksum = DecodeU64(footer.data() + sizeof offset);
  if (offset > info_.bytes - kFooterBytes) return malformed;
  const uint64_t size = info_.bytes - kFooterBytes - offset;
  if (size > kMaxIndexBytes) return malformed;
  std::string bytes(size, '\0');
  leveldb::Slice index;
  read = FromLevelDb(file_->Read(offset, size, &index, bytes.data()));
  if (!read) return read;
  if (index.size() != size || XXH3_64bits(index.data(), size) != checksum) return malformed;
  ByteReader in(ToView(index));
  uint64_t count = 0;
  if (!in.GetVarint(&count) || count == 0 || count > size) return malformed;
  uint64_t at = 0;
  blocks_.reserve(count);
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  for (; count > 0; --count) {
    BlockPlace block;
    std::string_view first;
    std::string_view last;
    int64_t span = 0;
    if (!in.GetNumber(&block.size, kMax32) || !in.GetNumber(&block.head_size, block.size) ||
        !in.GetNumber(&block.entries, kMax32) || !in.GetNumber(&block.rows, kMax32) ||
        !in.GetNumber(&block.min_time, static_cast<uint64_t>(kMaxTimeUs)) ||
        !in.GetNumber(&span, static_cast<uint64_t>(kMaxTimeUs)) || !in.GetString(&first) ||
        !in.GetString(&last)) {
      return malformed;
    }
    block.offset = at;
    block.max_time = block.min_time + span;
    block.first_key = first;
    block.last_key = last;
    at += block.size;
    blocks_.push_back(std::move(block));
  }
  if (!in.done() || at != offset) return malformed;
  return {};
}

size_t BlockFile::FindBlock(std::string_view key) const {
  const auto place =
      std::partition_point(blocks_.begin(), blocks_.end(),
                           [&](const BlockPlace& block) { return block.last_key < key; });
  return static_cast<size_t>(place - blocks_.begin());
}

Status BlockFile::Read(const BlockPlace& block, uint32_t offset, uint32_t size,
                       std::string* bytes) const {
  if (offset > block.size || size > block.size - offset) {
    return Error(ErrorCode::kCorruption, path_ + ": a block reaches beyond its end");
  }
  bytes->resize(size);
  leveldb::Slice read;
  const Status done = FromLevelDb(file_->Read(block.offset + offset, size, &read, bytes->data()));
  if (!done) return done;
  if (read.size() != size) return Error(ErrorCode::kCorruption, path_ + ": the file is too short");
  if (read.data() != bytes->data()) bytes->assign(read.data(), read.size());
  return {};
}

std::string BlockFilesDirectory(const std::string& path) { return path + "/blocks"; }

std::string BlockFilePath(const std::string& directory, uint64_t number) {
  return fmt::format("{}/{:06}{}", directory, number, kSuffix);
}

std::string UnfinishedBlockFilePath(const std::string& directory, uint64_t number) {
  return BlockFilePath(directory, number) + ".unfinished";
}

Result<uint64_t> RemoveStrayFiles(leveldb::Env* env, const std::string& directory,
                                  const std::vector<uint64_t>& known) {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(directory, &names));
  if (!listed) return listed.error();
  uint64_t greatest = known.empty() ? 0 : known.back();
  for (const std::string& name : names) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end == name.data()) continue;
    greatest = std::max(greatest, number);
    const bool finished = std::string_view(end, name.data() + name.size()) == kSuffix;
    if (finished && std::binary_search(known.begin(), known.end(), number)) continue;
    env->RemoveFile(directory + "/" + name).ok();
  }
  return greatest;
}

}  // namespace tallyd
