// The small records of the database (storage/FORMAT.md, Meta and Deletes), as values. Decode* fail
// with kCorruption on a record that a newer tallyd wrote or that is damaged.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_META_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_META_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/store.h"
#include "storage/table_info.h"

namespace tallyd {

inline constexpr uint32_t kFormatVersion = 9;
// What an older tallyd wrote is read as it is, and called the newest when it is opened.
inline constexpr uint32_t kOldestFormatVersion = 6;
inline bool IsReadableFormat(uint32_t version) {
  return version >= kOldestFormatVersion && version <= kFormatVersion;
}

std::string EncodeFormat(uint32_t version);
Result<uint32_t> DecodeFormat(std::string_view record);

// 16 random bytes, which a store keeps through backups.
std::string NewStoreId();
// In hexadecimal, as backups and messages have it.
std::string HexOfStoreId(std::string_view id);

std::string EncodeColumnSet(const std::vector<Column>& columns);
Result<std::vector<Column>> DecodeColumnSet(std::string_view record);

// What is known of a field: its types (1 << ValueType), and when it was last seen as a new spelling
// of its compact name, in the order of sequences (0: never told).
struct FieldMarks {
  uint8_t type_bits = 0;
  uint64_t spelled = 0;
  friend bool operator==(const FieldMarks&, const FieldMarks&) = default;
};
std::string EncodeField(const FieldMarks& marks);
Result<FieldMarks> DecodeField(std::string_view record);

// How a table missed a field, and the commit; the key names them.
std::string EncodeMissedField(const MissedField& missed);
Result<MissedField> DecodeMissedField(std::string_view record);

// `at`: when it was committed, by the wall clock.
std::string EncodeDelete(const DeleteSpec& what, TimeUs at);
Result<DeleteSpec> DecodeDelete(std::string_view record, TimeUs* at);

// What a head was when it was sealed; base notes that of the last ones. One of its number that is
// found later, and of which either differs, is another head.
inline constexpr uint64_t kNotedHeads = 64;
struct HeadNote {
  uint64_t entries = 0;  // Head::Checksum.
  uint64_t others = 0;   // Head::ChecksumOfOthers.
  friend bool operator==(const HeadNote&, const HeadNote&) = default;
};
std::string HeadNoteKey(uint64_t head);
std::string EncodeHeadNote(const HeadNote& note);
Result<HeadNote> DecodeHeadNote(std::string_view record);

// Where a head began, which it says with its first commit: its number, and the last sequence that
// there was before.
struct HeadOrigin {
  uint64_t number = 0;
  uint64_t after = 0;
  friend bool operator==(const HeadOrigin&, const HeadOrigin&) = default;
};
std::string EncodeHeadOrigin(const HeadOrigin& origin);
Result<HeadOrigin> DecodeHeadOrigin(std::string_view record);

// When a store was opened to be written: a copy of it that is put back, and goes on, has another
// opening from then on than what went on before.
struct Opening {
  uint64_t id = 0;        // Random.
  uint64_t sequence = 0;  // The last one by then.
  friend bool operator==(const Opening&, const Opening&) = default;
};
struct Openings {
  uint64_t forgotten = 0;  // How many there were before these.
  std::vector<Opening> known;
  friend bool operator==(const Openings&, const Openings&) = default;

  // One more, of a random id; the earliest are forgotten.
  void Add(uint64_t sequence);
};
std::string EncodeOpenings(const Openings& openings);
Result<Openings> DecodeOpenings(std::string_view record);

// What a head or base says of a memo: its value, or, in a head, that there is none (any more).
std::string EncodeMemo(std::optional<std::string_view> value);
Result<std::optional<std::string_view>> DecodeMemo(std::string_view record);  // A view of it.

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_META_CODEC_H_
