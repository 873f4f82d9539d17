#include "storage/leveldb/tools/block_check.h"

#include <algorithm>
#include <utility>

#include "storage/blocks/column_block.h"
#include "storage/bytes/coding.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// An index beyond it is refused, as by those who read the file for queries.
constexpr uint64_t kMaxEndBytes = 1u << 30;

Error Damage(std::string what) { return Error(ErrorCode::kCorruption, std::move(what)); }

Result<std::string> ReadPart(const leveldb::RandomAccessFile& file, uint64_t offset,
                             uint64_t size) {
  std::string bytes(size, '\0');
  leveldb::Slice read;
  const Status done = FromLevelDb(file.Read(offset, size, &read, bytes.data()));
  if (!done) return done.error();
  if (read.size() != size) return Damage("the file is too short");
  if (read.data() != bytes.data()) bytes.assign(read.data(), read.size());
  return bytes;
}

}  // namespace

Status BlockFileCheck::OpenFile(leveldb::Env* env, const std::string& path, uint64_t* size) {
  leveldb::RandomAccessFile* file = nullptr;
  Status done = FromLevelDb(env->GetFileSize(path, size));
  if (done) done = FromLevelDb(env->NewRandomAccessFile(path, &file));
  file_.reset(file);
  return done;
}

Status BlockFileCheck::ReadEnd(uint64_t size, bool* described) {
  *described = false;
  if (size < BlockFileFooter::kBytes) return Damage("the file has no end: it was not completed");
  const uint64_t end = size - BlockFileFooter::kBytes;
  const Result<std::string> last = ReadPart(*file_, end, BlockFileFooter::kBytes);
  if (!last) return last.error();
  BlockFileFooter footer;
  if (!DecodeFooter(*last, size, &footer)) return Damage("its end is malformed");
  if (end - footer.index > kMaxEndBytes) return Damage("its end is malformed");
  const Result<std::string> bytes = ReadPart(*file_, footer.index, end - footer.index);
  if (!bytes) return bytes.error();
  const auto of_index = std::string_view(*bytes).substr(0, footer.description - footer.index);
  const auto of_description = std::string_view(*bytes).substr(of_index.size());
  if (Checksum64(of_description) != footer.description_checksum) {
    return Damage("the description is malformed");
  }
  Result<BlockFileDescription> description = DecodeDescription(of_description);
  if (!description) return description.error();
  description_ = std::move(*description);
  description_.info.bytes = size;
  description_.info.checksum = footer.description_checksum;
  *described = true;
  if (Checksum64(of_index) != footer.index_checksum) return Damage("the index is malformed");
  Result<BlockIndex> index = DecodeBlockIndex(of_index, footer.index);
  if (!index) return index.error();
  index_ = std::move(*index);
  return {};
}

Result<BlockFileCheck> BlockFileCheck::Open(leveldb::Env* env, const std::string& path) {
  BlockFileCheck check;
  uint64_t size = 0;
  bool described = false;
  Status done = check.OpenFile(env, path, &size);
  if (done) done = check.ReadEnd(size, &described);
  if (!done) return done.error();
  return check;
}

Result<BlockFileCheck> BlockFileCheck::Scan(leveldb::Env* env, const std::string& path,
                                            const BlockFileDescription* known) {
  BlockFileCheck check;
  uint64_t size = 0;
  bool described = false;
  const Status opened = check.OpenFile(env, path, &size);
  if (!opened) return opened.error();
  const Status end = check.ReadEnd(size, &described);
  if (end) return check;
  if (!described && known == nullptr) return end.error();
  if (!described) check.description_ = *known;
  check.index_ = {};
  for (uint64_t offset = 0; offset < size;) {
    const Result<BlockPlace> place = check.ReadPlace(offset, size);
    if (!place) break;
    check.index_.Add(*place);
    offset += place->size;
  }
  return check;
}

// A block's head says how long it is, and how long what follows it (storage/FORMAT.md, Blocks).
Result<BlockPlace> BlockFileCheck::ReadPlace(uint64_t offset, uint64_t end) {
  constexpr uint64_t kFirstRead = 1u << 20;
  constexpr int kSections = 5;
  Result<std::string> bytes = ReadPart(*file_, offset, std::min(kFirstRead, end - offset));
  if (!bytes) return bytes.error();
  ByteReader in(*bytes);
  uint8_t version = 0;
  uint64_t number = 0;
  uint64_t columns = 0;
  bool good = in.GetByte(&version) && in.GetVarint(&number) &&
              in.GetNumber(&columns, kMaxBlockColumns) && in.GetVarint(&number);
  uint64_t head_size = kChecksumBytes;
  uint64_t streams = 0;
  for (int i = 0; i < kSections; ++i) {
    good = good && in.GetNumber(&number, end);
    head_size += number;
  }
  for (; good && columns > 0; --columns) {
    good = in.GetNumber(&number, end);
    streams += number;
  }
  head_size += bytes->size() - in.left();
  if (!good || head_size + streams > end - offset) return Damage("there is no block");
  if (head_size > bytes->size()) bytes = ReadPart(*file_, offset, head_size);
  if (!bytes) return bytes.error();
  ColumnBlock block;
  const Status opened = block.Open(std::string_view(*bytes).substr(0, head_size));
  if (!opened) return opened.error();
  BlockPlace place;
  place.size = static_cast<uint32_t>(head_size + streams);
  place.head_size = static_cast<uint32_t>(head_size);
  place.entries = block.entries();
  place.runs = static_cast<uint32_t>(block.runs().size());
  place.columns = static_cast<uint32_t>(block.schema()->columns.size());
  const auto [min_time, max_time] = std::ranges::minmax(block.times().All());
  place.min_time = min_time;
  place.max_time = max_time;
  block.GetKey(0, &first_key_);
  block.GetKey(place.entries - 1, &last_key_);
  place.first_key = first_key_;
  place.last_key = last_key_;
  for (uint32_t entry = 0; entry < place.entries; entry = block.RowEnd(entry)) ++place.rows;
  return place;
}

Status BlockFileCheck::Read(const BlockPlace& place, std::string* bytes) const {
  Result<std::string> read = ReadPart(*file_, place.offset, place.size);
  if (!read) return read.error();
  *bytes = std::move(*read);
  return {};
}

Status BlockChecker::Check(const BlockPlace& place, std::string_view bytes) {
  content_.Add(bytes);
  Status checked = block_.Open(bytes.substr(0, place.head_size));
  if (checked) checked = CheckEntries(place);
  if (checked) checked = CheckStreams(bytes);
  if (checked) checked = CheckParts();
  if (checked) goes_on_ = block_.is_part();
  return checked;
}

// The parts of an entry, which are one behind the other, have no column in common.
Status BlockChecker::CheckParts() {
  const std::vector<uint32_t> parts = std::exchange(parts_, {});
  if (parts.empty() && !block_.is_part()) {
    columns_.clear();
    return {};
  }
  auto part = parts.begin();
  for (uint32_t entry = 0; entry < block_.entries(); ++entry) {
    if (part == parts.end() || *part != entry) {
      columns_.clear();
    } else {
      ++part;
    }
    const bool by_presence = block_.schema()->by_presence;
    for (const uint32_t column : block_.schema()->shapes[block_.shape_of(entry)]) {
      const Presence* const presence = by_presence ? block_.PresenceOf(column) : nullptr;
      if (presence != nullptr && !presence->Has(entry)) continue;
      if (!columns_.insert(block_.schema()->columns[column]).second) {
        return Damage("a cell is there twice");
      }
    }
  }
  return {};
}

// The order of the store, what the index says of the block, and what the file says of all blocks.
Status BlockChecker::CheckEntries(const BlockPlace& place) {
  const auto times = block_.times().All();
  const auto sequences = block_.sequences();
  const auto [min_time, max_time] = std::ranges::minmax(times);
  const auto [min_sequence, max_sequence] = std::ranges::minmax(sequences);
  uint32_t rows = 0;
  for (uint32_t entry = 0; entry < block_.entries(); ++entry) {
    block_.GetKey(entry, &key_);
    const int order = any_ ? key_.compare(last_key_) : 1;
    const bool same_time = order == 0 && any_ && times[entry] == last_time_;
    const bool is_part = same_time && sequences[entry] == last_sequence_;
    const bool follows = order > 0 || (order == 0 && times[entry] < last_time_) ||
                         (same_time && sequences[entry] <= last_sequence_);
    if (!follows) return Damage("its entries are out of order");
    if (is_part) parts_.push_back(entry);
    if (entry == 0 && same_time && !(goes_on_ && block_.is_part())) {
      return Damage("what a row has at one time goes on in it, and it does not say so");
    }
    if (entry == 0 && key_ != place.first_key) return Damage("it begins with another row");
    rows += order != 0 || entry == 0 ? 1 : 0;
    last_key_.swap(key_);
    last_time_ = times[entry];
    last_sequence_ = sequences[entry];
    any_ = true;
  }
  if (last_key_ != place.last_key) return Damage("it ends with another row");
  if (block_.entries() != place.entries || rows != place.rows ||
      block_.runs().size() != place.runs || min_time != place.min_time ||
      max_time != place.max_time || block_.schema()->columns.size() != place.columns) {
    return Damage("the index tells of another block");
  }
  if (min_time < info_.window || max_time - info_.window >= info_.width ||
      min_sequence < info_.min_sequence || max_sequence > info_.max_sequence) {
    return Damage("its times or sequences are none of this file");
  }
  if (sums_.entries == 0) {
    sums_.min_time = min_time;
    sums_.min_sequence = min_sequence;
    sums_.first_key = place.first_key;
  }
  sums_.min_time = std::min(sums_.min_time, min_time);
  sums_.max_time = std::max(sums_.max_time, max_time);
  sums_.min_sequence = std::min(sums_.min_sequence, min_sequence);
  sums_.max_sequence = std::max(sums_.max_sequence, max_sequence);
  sums_.entries += block_.entries();
  sums_.rows += rows;
  return {};
}

Status BlockChecker::CheckStreams(std::string_view bytes) {
  const auto& columns = block_.schema()->columns;
  uint64_t end = bytes.size();
  for (uint32_t column = 0; column < columns.size(); ++column) {
    const ColumnBlock::Stream stream = block_.StreamOf(column);
    end = uint64_t{stream.offset} + stream.size;
    if (end > bytes.size()) return Damage("its columns reach beyond its end");
    if (columns[column].family >= families_.size()) return Damage("it names an unknown family");
    const Status decoded = block_.Decode(column, bytes.substr(stream.offset, stream.size), &data_);
    if (!decoded) return decoded;
    const std::optional<Aggregate> kind = families_[columns[column].family].last.aggregate;
    for (size_t i = 0; kind && i < data_.size(); ++i) {
      if (!IsState(*kind, data_.At(i))) return Damage("it has an aggregate that is none");
    }
  }
  if (end != bytes.size()) return Damage("its columns end before it does");
  return block_.CheckEntriesHaveCells();
}

// Merging widens what a file says of sequences by what its sources said: that may be more.
Status BlockChecker::CheckSums() const {
  if (sums_.entries != info_.entries || sums_.rows != info_.rows ||
      sums_.min_time != info_.min_time || sums_.max_time != info_.max_time ||
      sums_.first_key != info_.first_key || last_key_ != info_.last_key) {
    return Damage("its blocks are not those that it describes");
  }
  if (description_.content && content_.Get() != *description_.content) {
    return Damage("its blocks have another checksum than the one that it describes");
  }
  return {};
}

}  // namespace tallyd
