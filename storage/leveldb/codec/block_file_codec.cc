#include "storage/leveldb/codec/block_file_codec.h"

#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <new>

#include "storage/bytes/coding.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

constexpr std::string_view kMagic = "tallybk2";
constexpr uint8_t kRecordVersion = 2;
constexpr uint8_t kDescriptionVersion = 3;
constexpr uint8_t kDescriptionWithoutOrigin = 2;  // Up to format 8.
// A file is made of one head, or of some dozens of files.
constexpr uint64_t kMaxSources = 1u << 16;
// Most indexes are of a few blocks: chunks begin small, and each is twice the one before.
constexpr size_t kLeastChunkBytes = 256;
constexpr size_t kMostDoublings = 6;
constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMax63 = std::numeric_limits<int64_t>::max();
constexpr auto kLastTime = static_cast<uint64_t>(kMaxTimeUs);

Error Malformed(const char* what) {
  return Error(ErrorCode::kCorruption, std::string(what) + " is malformed");
}

// A key as what it shares with the one before, and the rest.
void PutKey(std::string_view key, std::string_view before, std::string* out) {
  const size_t shared = CommonBytes(key, before);
  PutVarint(out, shared);
  PutString(out, key.substr(shared));
}

bool GetKey(ByteReader* in, std::string_view before, std::string* key) {
  size_t shared = 0;
  std::string_view rest;
  if (!in->GetNumber(&shared, before.size()) || !in->GetString(&rest)) return false;
  key->assign(before.substr(0, shared)).append(rest);
  return true;
}

// What record and description have in common.
void PutInfo(const BlockFileInfo& info, std::string* out) {
  PutVarint(out, info.min_sequence);
  PutVarint(out, info.max_sequence);
  PutVarint(out, info.deletes);
  PutVarint(out, static_cast<uint64_t>(info.window));
  PutVarint(out, static_cast<uint64_t>(info.width));
  PutVarint(out, static_cast<uint64_t>(info.min_time));
  PutVarint(out, static_cast<uint64_t>(info.max_time));
  PutVarint(out, info.entries);
  PutVarint(out, info.rows);
  PutString(out, info.first_key);
  PutString(out, info.last_key);
}

bool GetInfo(ByteReader* in, BlockFileInfo* info) {
  std::string_view first;
  std::string_view last;
  if (!in->GetVarint(&info->min_sequence) || !in->GetVarint(&info->max_sequence) ||
      !in->GetVarint(&info->deletes) || !in->GetNumber(&info->window, kLastTime) ||
      !in->GetNumber(&info->width, kMax63) || info->width == 0 ||
      !in->GetNumber(&info->min_time, kLastTime) || !in->GetNumber(&info->max_time, kLastTime) ||
      !in->GetVarint(&info->entries) || !in->GetVarint(&info->rows) || !in->GetString(&first) ||
      !in->GetString(&last)) {
    return false;
  }
  info->first_key = first;
  info->last_key = last;
  return info->min_sequence <= info->max_sequence && info->min_time <= info->max_time;
}

void PutOrigin(const BlockFileDescription& description, std::string* out) {
  PutString(out, description.origin.store);
  PutU64(out, description.content.value_or(0));
  PutVarint(out, description.origin.sources.size());
  for (const FileSource& source : description.origin.sources) {
    out->push_back(static_cast<char>(source.kind));
    PutVarint(out, source.number);
    PutU64(out, source.checksum);
  }
}

bool GetOrigin(ByteReader* in, BlockFileDescription* description) {
  std::string_view store;
  uint64_t sources = 0;
  if (!in->GetString(&store) || !in->GetU64(&description->content.emplace()) ||
      !in->GetNumber(&sources, kMaxSources)) {
    return false;
  }
  description->origin.store = store;
  for (; sources > 0; --sources) {
    FileSource source;
    uint8_t kind = 0;
    if (!in->GetByte(&kind) || kind > static_cast<uint8_t>(FileSource::Kind::kFile) ||
        !in->GetVarint(&source.number) || !in->GetU64(&source.checksum)) {
      return false;
    }
    source.kind = static_cast<FileSource::Kind>(kind);
    description->origin.sources.push_back(source);
  }
  return true;
}

}  // namespace

uint64_t Checksum64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

ContentChecksum::ContentChecksum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}

void ContentChecksum::Free::operator()(void* state) const {
  XXH3_freeState(static_cast<XXH3_state_t*>(state));
}

void ContentChecksum::Add(std::string_view bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

uint64_t ContentChecksum::Get() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_.get()));
}

std::string BlockFileKey(TableId table, uint64_t number) {
  std::string key = TablePrefix(KeySpace::kBlockFiles, table);
  PutU64(&key, number);
  return key;
}

std::string FileNoteKey(uint64_t number) {
  std::string key(1, static_cast<char>(KeySpace::kFileNotes));
  PutU64(&key, number);
  return key;
}

std::string EncodeFileNote(const FileNote& note) {
  std::string record(1, static_cast<char>(note.kind));
  if (note.kind == FileNote::Kind::kDamaged) record += note.reason;
  if (note.kind == FileNote::Kind::kDropped && note.checksum) PutU64(&record, *note.checksum);
  return record;
}

Result<uint64_t> ParseFileNoteKey(std::string_view key) {
  uint64_t number = 0;
  ByteReader in(key.substr(1));
  if (in.GetU64(&number) && in.done()) return number;
  return Error(ErrorCode::kCorruption, "it names no file");
}

Result<FileNote> DecodeFileNote(std::string_view record) {
  FileNote note;
  if (record.empty() || static_cast<uint8_t>(record[0]) > uint8_t{1}) {
    return Error(ErrorCode::kCorruption, "it says nothing that is known");
  }
  note.kind = static_cast<FileNote::Kind>(record[0]);
  if (note.kind == FileNote::Kind::kDamaged) {
    note.reason = record.substr(1);
  } else if (record.size() > 1) {
    ByteReader in(record.substr(1));
    if (!in.GetU64(&note.checksum.emplace()) || !in.done()) {
      return Error(ErrorCode::kCorruption, "it does not say which file was dropped");
    }
  }
  return note;
}

std::string EncodeBlockFile(const BlockFileInfo& info) {
  std::string record(1, static_cast<char>(kRecordVersion));
  PutInfo(info, &record);
  PutVarint(&record, info.bytes);
  PutU64(&record, info.checksum);
  return record;
}

Result<BlockFileInfo> DecodeBlockFile(std::string_view key, std::string_view record) {
  BlockFileInfo info;
  ByteReader in_key(key.substr(1));
  ByteReader in(record);
  uint8_t version = 0;
  const bool good = in_key.GetU32(&info.table) && in_key.GetU64(&info.number) && in_key.done() &&
                    in.GetByte(&version) && version == kRecordVersion && GetInfo(&in, &info) &&
                    in.GetVarint(&info.bytes) && in.GetU64(&info.checksum) && in.done();
  if (!good) return Malformed("a block file's record");
  return info;
}

std::string_view BlockIndex::Keep(std::string_view key) {
  if (key.empty()) return {};
  if (key.size() > left_) {
    left_ = std::max(key.size(), kLeastChunkBytes << std::min(chunks_.size(), kMostDoublings));
    chunks_.push_back(std::make_unique<char[]>(left_));
  }
  // Chunks are filled from their ends.
  left_ -= key.size();
  char* to = chunks_.back().get() + left_;
  std::copy(key.begin(), key.end(), to);
  return {to, key.size()};
}

void BlockIndex::Add(BlockPlace place) {
  place.offset = end();
  const bool same = place.first_key == place.last_key;
  place.first_key = Keep(place.first_key);
  place.last_key = same ? place.first_key : Keep(place.last_key);
  blocks_.push_back(place);
}

size_t BlockIndex::FindBlock(std::string_view key) const {
  const auto place =
      std::partition_point(blocks_.begin(), blocks_.end(),
                           [&](const BlockPlace& block) { return block.last_key < key; });
  return static_cast<size_t>(place - blocks_.begin());
}

size_t BlockIndex::bytes() const {
  size_t bytes = sizeof(*this) + blocks_.capacity() * sizeof(BlockPlace);
  for (const BlockPlace& block : blocks_) bytes += block.first_key.size() + block.last_key.size();
  return bytes + left_;
}

std::string EncodeBlockIndex(const BlockIndex& index) {
  std::string bytes;
  PutVarint(&bytes, index.blocks().size());
  std::string_view before;
  for (const BlockPlace& block : index.blocks()) {
    PutVarint(&bytes, block.size);
    PutVarint(&bytes, block.head_size);
    PutVarint(&bytes, block.entries);
    PutVarint(&bytes, block.rows);
    PutVarint(&bytes, block.runs);
    PutVarint(&bytes, block.columns);
    PutVarint(&bytes, static_cast<uint64_t>(block.min_time));
    PutVarint(&bytes, static_cast<uint64_t>(block.max_time - block.min_time));
    PutKey(block.first_key, before, &bytes);
    PutKey(block.last_key, block.first_key, &bytes);
    before = block.last_key;
  }
  return bytes;
}

Result<BlockIndex> DecodeBlockIndex(std::string_view bytes, uint64_t end) {
  ByteReader in(bytes);
  uint64_t count = 0;
  // A block takes at least twelve bytes here.
  if (!in.GetVarint(&count) || count == 0 || count > bytes.size()) return Malformed("the index");
  BlockIndex index;
  std::string first;
  std::string last;
  for (; count > 0; --count) {
    BlockPlace block;
    int64_t span = 0;
    if (!in.GetNumber(&block.size, kMax32) || !in.GetNumber(&block.head_size, block.size) ||
        !in.GetNumber(&block.entries, kMax32) || !in.GetNumber(&block.rows, kMax32) ||
        !in.GetNumber(&block.runs, block.entries) || !in.GetNumber(&block.columns, kMax32) ||
        !in.GetNumber(&block.min_time, kLastTime) || !in.GetNumber(&span, kLastTime) ||
        !GetKey(&in, last, &first) || !GetKey(&in, first, &last) || first > last) {
      return Malformed("the index");
    }
    block.max_time = block.min_time + span;
    block.first_key = first;
    block.last_key = last;
    index.Add(block);
  }
  if (!in.done() || index.end() != end) return Malformed("the index");
  return index;
}

std::string EncodeDescription(const BlockFileDescription& description) {
  std::string bytes(1, static_cast<char>(kDescriptionVersion));
  PutVarint(&bytes, kFormatVersion);
  PutVarint(&bytes, description.info.table);
  PutVarint(&bytes, description.info.number);
  PutInfo(description.info, &bytes);
  PutString(&bytes, EncodeTable(description.table));
  PutOrigin(description, &bytes);
  return bytes;
}

Result<BlockFileDescription> DecodeDescription(std::string_view bytes) {
  BlockFileDescription description;
  ByteReader in(bytes);
  uint8_t version = 0;
  uint32_t format = 0;
  std::string_view table;
  if (!in.GetByte(&version) || version < kDescriptionWithoutOrigin ||
      version > kDescriptionVersion || !in.GetNumber(&format, kMax32) ||
      !IsReadableFormat(format) || !in.GetNumber(&description.info.table, kMax32) ||
      !in.GetVarint(&description.info.number) || !GetInfo(&in, &description.info) ||
      !in.GetString(&table) || (version == kDescriptionVersion && !GetOrigin(&in, &description)) ||
      !in.done()) {
    return Malformed("the description");
  }
  Result<TableInfo> decoded = DecodeTable(table);
  if (!decoded) return decoded.error();
  description.table = std::move(*decoded);
  description.table.id = description.info.table;
  return description;
}

std::string EncodeFooter(const BlockFileFooter& footer) {
  std::string bytes;
  PutU64(&bytes, footer.index);
  PutU64(&bytes, footer.index_checksum);
  PutU64(&bytes, footer.description);
  PutU64(&bytes, footer.description_checksum);
  return bytes.append(kMagic);
}

bool DecodeFooter(std::string_view bytes, uint64_t file_bytes, BlockFileFooter* footer) {
  ByteReader in(bytes);
  return bytes.size() == BlockFileFooter::kBytes && file_bytes >= bytes.size() &&
         in.GetU64(&footer->index) && in.GetU64(&footer->index_checksum) &&
         in.GetU64(&footer->description) && in.GetU64(&footer->description_checksum) &&
         in.rest() == kMagic && footer->index <= footer->description &&
         footer->description <= file_bytes - bytes.size();
}

bool LooksLikeFooter(std::string_view bytes) {
  constexpr size_t kMostDamaged = 2;
  if (bytes.size() != BlockFileFooter::kBytes) return false;
  const std::string_view end = bytes.substr(bytes.size() - kMagic.size());
  size_t others = 0;
  for (size_t i = 0; i < kMagic.size(); ++i) others += end[i] != kMagic[i] ? 1 : 0;
  return others <= kMostDamaged;
}

}  // namespace tallyd
