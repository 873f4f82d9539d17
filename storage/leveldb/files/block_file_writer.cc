#include "storage/leveldb/files/block_file_writer.h"

#include <algorithm>

#include "storage/leveldb/env/status.h"

namespace tallyd {

BlockFileWriter::BlockFileWriter(leveldb::Env* env, std::string directory,
                                 const BlockFileInfo& info)
    : env_(env), directory_(std::move(directory)), info_(info) {}

BlockFileWriter::~BlockFileWriter() {
  if (!file_) return;
  file_.reset();
  env_->RemoveFile(UnfinishedBlockFilePath(directory_, info_.number)).ok();
}

Status BlockFileWriter::Append(std::string_view bytes) {
  if (!file_) {
    leveldb::WritableFile* file = nullptr;
    const Status opened = FromLevelDb(
        env_->NewWritableFile(UnfinishedBlockFilePath(directory_, info_.number), &file));
    if (!opened) return opened;
    file_.reset(file);
  }
  bytes_ += bytes.size();
  return FromLevelDb(file_->Append(ToSlice(bytes)));
}

Status BlockFileWriter::AddBlock(const BlockPlace& place, std::string_view bytes) {
  if (!builder_.empty()) {
    const Status flushed = Flush();
    if (!flushed) return flushed;
  }
  BlockPlace moved = place;
  moved.offset = bytes_;
  if (blocks_.empty()) {
    info_.min_time = place.min_time;
    info_.max_time = place.max_time;
  }
  info_.min_time = std::min(info_.min_time, place.min_time);
  info_.max_time = std::max(info_.max_time, place.max_time);
  info_.entries += place.entries;
  blocks_.push_back(std::move(moved));
  return Append(bytes);
}

Status BlockFileWriter::Flush() {
  const BuiltBlock built = builder_.Finish();
  BlockPlace place;
  place.size = static_cast<uint32_t>(built.bytes.size());
  place.head_size = built.head_size;
  place.entries = built.entries;
  place.rows = built.rows;
  place.min_time = built.min_time;
  place.max_time = built.max_time;
  place.first_key = built.first_key;
  place.last_key = built.last_key;
  return AddBlock(place, built.bytes);
}

Result<BlockFilePtr> BlockFileWriter::Finish() {
  if (!builder_.empty()) {
    const Status flushed = Flush();
    if (!flushed) return flushed.error();
  }
  if (blocks_.empty()) return BlockFilePtr();
  Status written = Append(EncodeBlockIndex(blocks_));
  if (written) written = FromLevelDb(file_->Sync());
  if (written) written = FromLevelDb(file_->Close());
  if (written) {
    written = FromLevelDb(env_->RenameFile(UnfinishedBlockFilePath(directory_, info_.number),
                                           BlockFilePath(directory_, info_.number)));
  }
  if (!written) return written.error();
  file_.reset();
  info_.bytes = bytes_;
  return BlockFile::Open(env_, directory_, info_);
}

}  // namespace tallyd
