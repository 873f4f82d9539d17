#include "storage/leveldb/files/block_file_writer.h"

#include <algorithm>
#include <utility>

#include "storage/leveldb/env/status.h"

namespace tallyd {

BlockFileWriter::BlockFileWriter(BlockFileShelf* shelf, TablePtr table, BlockFileInfo info)
    : shelf_(shelf),
      table_(std::move(table)),
      info_(std::move(info)),
      builder_(std::make_unique<BlockBuilder>()) {
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
    const Status flushed = Flush();
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
  return Append(bytes);
}

Status BlockFileWriter::Flush() {
  const BuiltBlock built = builder_->Finish();
  BlockPlace place;
  place.size = static_cast<uint32_t>(built.bytes.size());
  place.head_size = built.head_size;
  place.entries = built.entries;
  place.rows = built.rows;
  place.columns = built.columns;
  place.min_time = built.min_time;
  place.max_time = built.max_time;
  place.first_key = built.first_key;
  place.last_key = built.last_key;
  return AddBlock(place, built.bytes, built.min_sequence, built.max_sequence);
}

Status BlockFileWriter::Complete() {
  if (!builder_->empty()) {
    const Status flushed = Flush();
    if (!flushed) return flushed;
  }
  builder_.reset();
  const std::string index = EncodeBlockIndex(index_);
  const std::string description = EncodeDescription({info_, *table_});
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
