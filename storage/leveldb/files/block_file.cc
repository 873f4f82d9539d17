#include "storage/leveldb/files/block_file.h"

#include <cerrno>
#include <cstring>

namespace tallyd {
namespace {

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

BlockFile::~BlockFile() {
  if (dropped_) shelf_->Remove(info_.number);
}

void BlockFile::ReportDamage(const Error& error) const {
  if (!IsPassing(error)) shelf_->damaged().Report({info_.number, path(), error.message()});
}

Error BlockFile::Damaged(const Error& error) const {
  ReportDamage(error);
  const Error named = error.Prefixed(path());
  // A file that is gone is damage, not a question for something that does not exist.
  if (error.code() == ErrorCode::kNotFound) return Error(ErrorCode::kCorruption, named.message());
  return named;
}

Result<FileHandlePtr> BlockFile::Handle() const {
  if (FileHandlePtr open = shelf_->handles().Find(info_.number)) return open;
  leveldb::RandomAccessFile* file = nullptr;
  const Status opened = FromLevelDb(shelf_->env()->NewRandomAccessFile(path(), &file));
  if (!opened) return opened.error();
  FileHandlePtr handle(file);
  shelf_->handles().Put(info_.number, handle, 1);
  return handle;
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
  if (BlockIndexPtr known = shelf_->indexes().Find(info_.number)) return known;
  Result<BlockIndex> index = ReadIndex();
  if (!index) return Damaged(index.error());
  auto kept = std::make_shared<const BlockIndex>(std::move(*index));
  shelf_->indexes().Put(info_.number, kept, kept->bytes());
  return kept;
}

Result<BlockIndex> BlockFile::ReadIndex() const {
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
  return DecodeBlockIndex(of_index, footer.index);
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

}  // namespace tallyd
