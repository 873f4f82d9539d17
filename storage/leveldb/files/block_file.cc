#include "storage/leveldb/files/block_file.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "storage/blocks/column_block.h"
#include "storage/descriptors.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {

void DamagedFiles::Report(DamagedFile file) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = files_.try_emplace(file.number);
  if (!added) return;
  DamagedFile& damaged = place->second.file;
  damaged = std::move(file);
  spdlog::error(
      "store: {} is damaged and left as it is: {}. Queries that need what is lost in it fail, "
      "everything else goes on",
      damaged.path, damaged.reason);
}

void DamagedFiles::Forget(uint64_t number) {
  const std::lock_guard lock(mutex_);
  files_.erase(number);
}

bool DamagedFiles::Contains(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return files_.contains(number);
}

std::vector<DamagedFile> DamagedFiles::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<DamagedFile> all;
  for (const auto& [number, damage] : files_) all.push_back(damage.file);
  return all;
}

void DamagedFiles::SetNoted(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(number);
  if (found != files_.end()) found->second.noted = true;
}

std::vector<DamagedFile> DamagedFiles::Noted(bool noted) const {
  const std::lock_guard lock(mutex_);
  std::vector<DamagedFile> such;
  for (const auto& [number, damage] : files_) {
    if (damage.noted == noted) such.push_back(damage.file);
  }
  return such;
}

BlockFileShelf::BlockFileShelf(StoreEnv* env, std::string directory, const ShelfCacheBytes& cache)
    : env_(env),
      directory_(std::move(directory)),
      indexes_(cache.indexes),
      handles_(DescriptorsOfProcess().block_files),
      parts_(cache.parts) {}

std::string BlockFileShelf::PathOf(uint64_t number) const {
  return fmt::format("{}/{:06}.blocks", directory_, number);
}

void BlockFileShelf::Remove(uint64_t number) {
  indexes_.Erase(number);
  handles_.Erase(number);
  damaged_.Forget(number);
  if (!env_->RemoveFile(PathOf(number)).ok()) {
    spdlog::warn("store: {} cannot be removed yet", PathOf(number));
    return;
  }
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

std::string BlockFilesDirectory(const std::string& path) { return path + "/blocks"; }

namespace {

constexpr uint64_t kMaxIndexBytes = 1u << 30;

constexpr size_t kBlocksBetweenCalls = 16;

// The call failed, and nothing is known of the bytes: of what they are a checksum tells.
bool MayPass(const Error& error) {
  return error.code() == ErrorCode::kIo || error.code() == ErrorCode::kNoSpace;
}

// Whether the block is what the index says, and each of its columns whole.
Status CheckBlock(const BlockPlace& place, std::string_view bytes, ColumnBlock* block) {
  const Status opened = block->Open(bytes.substr(0, place.head_size));
  if (!opened) return opened;
  std::string first;
  std::string last;
  block->GetKey(0, &first);
  block->GetKey(block->entries() - 1, &last);
  const auto columns = static_cast<uint32_t>(block->schema()->columns.size());
  if (block->entries() != place.entries || block->runs().size() != place.runs ||
      columns != place.columns || first != place.first_key || last != place.last_key) {
    return Error(ErrorCode::kCorruption, "the index tells of another block");
  }
  uint64_t end = place.head_size;
  for (uint32_t column = 0; column < columns; ++column) {
    const ColumnBlock::Stream stream = block->StreamOf(column);
    end = uint64_t{stream.offset} + stream.size;
    if (end > bytes.size() || !IsSoundStream(bytes.substr(stream.offset, stream.size))) {
      return Error(ErrorCode::kCorruption, "a column is malformed");
    }
  }
  if (end == bytes.size()) return {};
  return Error(ErrorCode::kCorruption, "its columns end before it does");
}

}  // namespace

BlockFile::~BlockFile() {
  if (dropped_) shelf_->Remove(info_.number);
}

void BlockFile::ReportDamage(const Error& error) const {
  if (MayPass(error)) {
    failed_read_ = true;
  } else {
    shelf_->damaged().Report({info_.number, path(), error.message()});
  }
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

Status BlockFile::ReadBlock(const BlockPlace& block, std::string* bytes) const {
  Result<std::string> read = ReadAt(block.offset, block.size);
  if (!read) return read.error();
  *bytes = std::move(*read);
  return {};
}

Status BlockFile::CheckWritten(const std::function<Status()>& go_on) const {
  const auto wrong = [this](const Error& error) {
    return error.Prefixed(fmt::format("{}: what was just written cannot be read", path()));
  };
  const Result<BlockIndex> index = ReadIndex();
  if (!index) return wrong(index.error());
  ColumnBlock block;
  std::string bytes;
  uint64_t entries = 0;
  size_t calls = 0;
  for (const BlockPlace& place : index->blocks()) {
    const Status may = ++calls % kBlocksBetweenCalls == 0 ? go_on() : Status();
    if (!may) return may;
    Status checked = ReadBlock(place, &bytes);
    if (checked) checked = CheckBlock(place, bytes, &block);
    if (!checked) return wrong(checked.error());
    entries += place.entries;
  }
  const auto& blocks = index->blocks();
  if (entries == info_.entries && blocks.front().first_key == info_.first_key &&
      blocks.back().last_key == info_.last_key) {
    return {};
  }
  return wrong(Error(ErrorCode::kCorruption, "its blocks are not those that it describes"));
}

Result<BytesPtr> BlockFile::ReadPart(const BlockPlace& block, uint32_t offset, uint32_t size,
                                     uint32_t ahead, BlockReads reads) const {
  const FilePlace place{info_.number, block.offset + offset};
  if (reads == BlockReads::kCached) {
    BytesPtr known = shelf_->parts().Find(place);
    if (known && known->size() >= size) return known;
  }
  if (offset <= block.size && size <= block.size - offset) {
    size += std::min(ahead, block.size - offset - size);
  }
  auto bytes = std::make_shared<std::string>();
  const Status read = Read(block, offset, size, bytes.get());
  if (!read) return read.error();
  if (reads == BlockReads::kCached) shelf_->parts().Put(place, bytes);
  return BytesPtr(std::move(bytes));
}

BlockFileWriter::BlockFileWriter(BlockFileShelf* shelf, TablePtr table, BlockFileInfo info,
                                 const BlockBounds& bounds, std::vector<FileSource> sources)
    : shelf_(shelf),
      table_(std::move(table)),
      info_(std::move(info)),
      sources_(std::move(sources)),
      builder_(std::make_unique<BlockBuilder>(bounds)) {
  info_.table = table_->id;
  info_.entries = 0;
  info_.rows = 0;
}

BlockFileWriter::~BlockFileWriter() {
  if (!file_ || handed_out_) return;
  file_.reset();
  shelf_->env()->RemoveFile(shelf_->PathOf(info_.number)).ok();
}

Status BlockFileWriter::Append(std::string_view bytes) {
  if (!file_) {
    leveldb::WritableFile* file = nullptr;
    const Status opened =
        FromLevelDb(shelf_->env()->NewWritableFile(shelf_->PathOf(info_.number), &file));
    if (!opened) return opened;
    file_.reset(file);
  }
  bytes_ += bytes.size();
  return FromLevelDb(file_->Append(ToSlice(bytes)));
}

Status BlockFileWriter::AddBlock(const BlockPlace& place, std::string_view bytes,
                                 uint64_t min_sequence, uint64_t max_sequence) {
  if (!builder_->empty()) {
    const Status flushed = Flush(false);
    if (!flushed) return flushed;
  }
  if (index_.empty()) {
    info_.min_time = place.min_time;
    info_.max_time = place.max_time;
    info_.min_sequence = min_sequence;
    info_.max_sequence = max_sequence;
    info_.first_key = place.first_key;
  }
  info_.min_time = std::min(info_.min_time, place.min_time);
  info_.max_time = std::max(info_.max_time, place.max_time);
  info_.min_sequence = std::min(info_.min_sequence, min_sequence);
  info_.max_sequence = std::max(info_.max_sequence, max_sequence);
  info_.last_key = place.last_key;
  info_.entries += place.entries;
  info_.rows += place.rows;
  index_.Add(place);
  content_.Add(bytes);
  return Append(bytes);
}

Status BlockFileWriter::Flush(bool goes_on) {
  const BuiltBlock built = builder_->Finish(goes_on);
  BlockPlace place;
  place.size = static_cast<uint32_t>(built.bytes.size());
  place.head_size = built.head_size;
  place.entries = built.entries;
  place.rows = built.rows;
  place.runs = built.runs;
  place.columns = built.columns;
  place.min_time = built.min_time;
  place.max_time = built.max_time;
  place.first_key = built.first_key;
  place.last_key = built.last_key;
  return AddBlock(place, built.bytes, built.min_sequence, built.max_sequence);
}

Status BlockFileWriter::Complete() {
  if (!builder_->empty()) {
    const Status flushed = Flush(false);
    if (!flushed) return flushed;
  }
  builder_.reset();
  const std::string index = EncodeBlockIndex(index_);
  const std::string description =
      EncodeDescription({info_, *table_, {shelf_->store(), sources_}, content_.Get()});
  BlockFileFooter footer;
  footer.index = bytes_;
  footer.index_checksum = Checksum64(index);
  footer.description = bytes_ + index.size();
  footer.description_checksum = info_.checksum = Checksum64(description);
  index_ = {};
  Status written = Append(index + description + EncodeFooter(footer));
  info_.bytes = bytes_;
  if (written) written = FromLevelDb(file_->Flush());
  return written;
}

Status BlockFileWriter::Sync() {
  const Status synced = FromLevelDb(file_->Sync());
  return synced ? FromLevelDb(file_->Close()) : synced;
}

BlockFilePtr BlockFileWriter::Finish() {
  handed_out_ = true;
  file_.reset();
  return std::make_shared<const BlockFile>(shelf_, info_);
}

}  // namespace tallyd
