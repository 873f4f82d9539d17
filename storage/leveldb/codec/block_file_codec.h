// The parts of a block file beside its blocks (storage/FORMAT.md, Block files), and base's record
// of one: values and their bytes. Every file describes itself, so that two swapped files are
// noticed and a lost base can be rebuilt from them.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_BLOCK_FILE_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_BLOCK_FILE_CODEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/table_info.h"


namespace tallyd {

struct BlockFileInfo {
  TableId table = 0;
  uint64_t number = 0;  // Of the file; never given twice.
  // Of the entries, as places in the order of commits: that of an entry is the last sequence of the
  // head that it came in.
  uint64_t min_sequence = 0;
  uint64_t max_sequence = 0;
  uint64_t deletes = 0;  // Deletes up to this sequence have been applied to it.
  TimeUs window = 0;     // It holds times of [window, window + width) only.
  int64_t width = 0;
  TimeUs min_time = 0;
  TimeUs max_time = 0;
  uint64_t entries = 0;
  uint64_t rows = 0;  // Distinct keys, where one is in two blocks it counts twice.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // Of the file's description; a file with another is not the one meant.
  std::string first_key;
  std::string last_key;

  bool Overlaps(const TimeRange& range) const {
    return min_time < range.to && max_time >= range.from;
  }
  // Whether an entry of this file may cover cells of one in that file: of the same row and time,
  // and committed later.
  bool MayCover(const BlockFileInfo& earlier) const {
    return earlier.min_sequence < max_sequence && earlier.min_time <= max_time &&
           min_time <= earlier.max_time && earlier.first_key <= last_key &&
           first_key <= earlier.last_key;
  }
  friend bool operator==(const BlockFileInfo&, const BlockFileInfo&) = default;
};

std::string BlockFileKey(TableId table, uint64_t number);
std::string EncodeBlockFile(const BlockFileInfo& info);
Result<BlockFileInfo> DecodeBlockFile(std::string_view key, std::string_view record);

// What base notes of a file beside its record; of each file one note at most.
struct FileNote {
  // DO NOT CHANGE THESE VALUES: they are on disk.
  enum class Kind : uint8_t {
    kDropped = 0,  // Its record is gone, and the file may still be there.
    kDamaged = 1,  // Something of it could not be read.
  };
  Kind kind = Kind::kDropped;
  std::string reason;  // Of damage.
  // Of the description of the file that was dropped: another one of its number is not meant.
  // Nothing: an older tallyd wrote it.
  std::optional<uint64_t> checksum = {};

  friend bool operator==(const FileNote&, const FileNote&) = default;
};
std::string FileNoteKey(uint64_t number);
std::string EncodeFileNote(const FileNote& note);
// kCorruption where either is none.
Result<uint64_t> ParseFileNoteKey(std::string_view key);
Result<FileNote> DecodeFileNote(std::string_view record);

// One block in the file. The keys are views into its BlockIndex.
struct BlockPlace {
  uint64_t offset = 0;
  uint32_t size = 0;
  uint32_t head_size = 0;
  uint32_t entries = 0;
  uint32_t rows = 0;
  uint32_t runs = 0;     // Of keys that differ by nothing but their time.
  uint32_t columns = 0;  // Streams: whoever reads all of the block's columns reads each by itself.
  TimeUs min_time = 0;
  TimeUs max_time = 0;
  std::string_view first_key;
  std::string_view last_key;

  bool Overlaps(const TimeRange& range) const {
    return min_time < range.to && max_time >= range.from;
  }
};

// A file's blocks in order of row key. Immutable once made.
class BlockIndex {
 public:
  // `place` and its keys are copied; its offset is set. Only while it is being made.
  void Add(BlockPlace place);

  const std::vector<BlockPlace>& blocks() const { return blocks_; }
  bool empty() const { return blocks_.empty(); }
  // The first block whose last key is at or after `key`; blocks().size() if none is.
  size_t FindBlock(std::string_view key) const;
  uint64_t end() const { return blocks_.empty() ? 0 : blocks_.back().offset + blocks_.back().size; }
  // What it takes in memory.
  size_t bytes() const;

 private:
  std::string_view Keep(std::string_view key);

  std::vector<BlockPlace> blocks_;
  std::vector<std::unique_ptr<char[]>> chunks_;  // Of keys.
  size_t left_ = 0;                              // In the last chunk.
};

std::string EncodeBlockIndex(const BlockIndex& index);
// kCorruption if the bytes are not those of an index whose blocks end at `end`.
Result<BlockIndex> DecodeBlockIndex(std::string_view bytes, uint64_t end);

// What entries of a file came from, as it was then.
struct FileSource {
  // DO NOT CHANGE THESE VALUES: they are on disk.
  enum class Kind : uint8_t { kHead = 0, kFile = 1 };
  Kind kind = Kind::kHead;
  uint64_t number = 0;
  uint64_t checksum = 0;  // Of a head's records (Head::Checksum); of a file's description.

  friend bool operator==(const FileSource&, const FileSource&) = default;
};

// Which store made a file, and of what. Where all of its sources are there as they were, the file
// has nothing that they do not have.
struct FileOrigin {
  std::string store;  // Its id; empty: not known, of a file from before format 9.
  std::vector<FileSource> sources = {};

  friend bool operator==(const FileOrigin&, const FileOrigin&) = default;
};

// What a file says of itself: what base records of it (but for the checksum), and its table; since
// format 9 also where it comes from, and what its blocks are.
struct BlockFileDescription {
  BlockFileInfo info;
  TableInfo table;  // As meta_codec.h's EncodeTable keeps it.
  FileOrigin origin = {};
  std::optional<uint64_t> content = {};  // ContentChecksum of its blocks; nothing: older.
};
std::string EncodeDescription(const BlockFileDescription& description);
Result<BlockFileDescription> DecodeDescription(std::string_view bytes);

// The end of a file; of fixed size.
struct BlockFileFooter {
  static constexpr size_t kBytes = 40;
  uint64_t index = 0;  // Offset.
  uint64_t index_checksum = 0;
  uint64_t description = 0;  // Offset.
  uint64_t description_checksum = 0;
};
std::string EncodeFooter(const BlockFileFooter& footer);
// False if the bytes are not a footer of a file of `file_bytes` bytes.
bool DecodeFooter(std::string_view bytes, uint64_t file_bytes, BlockFileFooter* footer);
// Whether they were one, for all that a damaged byte or two let tell.
bool LooksLikeFooter(std::string_view bytes);

uint64_t Checksum64(std::string_view bytes);  // XXH3 with 64 bits.

// The same of bytes that come in pieces.
class ContentChecksum {
 public:
  ContentChecksum();
  void Add(std::string_view bytes);
  uint64_t Get() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  // An XXH3_state_t, whose name depends on how the library's header was included.
  std::unique_ptr<void, Free> state_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_BLOCK_FILE_CODEC_H_
