// The values of one column of a block (storage/FORMAT.md, Columns): gathered as they come, then
// encoded by what they have in common; and text, of which columns, keys and names consist. Whatever
// the bytes are, reading them back gives what was written or false. Of one thread each.
#ifndef TALLYD_STORAGE_BLOCKS_COLUMN_CODEC_H_
#define TALLYD_STORAGE_BLOCKS_COLUMN_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/value.h"
#include "storage/blocks/block_limits.h"
#include "storage/blocks/column_block.h"
#include "storage/bytes/coding.h"

namespace tallyd {

// One column's values on their way into a block.
class ColumnBuffer {
 public:
  void Clear() {
    numbers_.clear();
    tags_.clear();
    text_.clear();
    text_ends_.clear();
    last_begin_ = 0;
    text_bytes_ = 0;
    seen_tags_ = 0;
    mixed_ = false;
    form_ = plain_form_ = text_form_ = kNoForm;
  }
  size_t size() const { return numbers_.size(); }
  // Of all values that are text.
  size_t text_bytes() const { return text_bytes_; }

  // Copied. Not null.
  void Add(const Value& value) {
    if (value.form() == plain_form_) [[likely]] {
      numbers_.push_back(value.bits());
    } else if (value.form() == text_form_) {
      AddText(value.AsView());
    } else {
      AddOther(value);
    }
  }

  // Copies `count` values from `begin` on.
  void AddRange(const ColumnData& data, size_t begin, size_t count);

  // Appends the column's encoding, without a checksum.
  void Encode(std::string* out) const;

 private:
  // Kinds from kDecimal on are kDecimal + scale.
  enum Tag : uint8_t { kInt, kDouble, kBool, kString, kBytes, kDecimal };

  void AddOther(Value value);  // A copy: of others no address is to be taken.
  // What comes from this value on is held as it is.
  void MeetForm(const Value& value);
  void AddText(std::string_view text) {
    if (text_ends_.empty() || std::string_view(text_).substr(last_begin_) != text) StoreText(text);
    text_bytes_ += text.size();
    numbers_.push_back(static_cast<int64_t>(text_ends_.size() - 1));
  }
  void StoreText(std::string_view text);
  static uint8_t TagOf(const Value& value);
  uint8_t TagAt(size_t index) const { return mixed_ ? tags_[index] : tag_; }
  bool Only(uint64_t tags) const { return (seen_tags_ & ~tags) == 0; }
  bool EncodeDecimals(std::string* out) const;
  void EncodeDoubles(std::string* out) const;
  void EncodeTexts(ColumnData::Kind kind, std::string* out) const;
  void EncodeMixed(std::string* out) const;
  std::string_view TextAt(size_t index) const {
    return StoredText(static_cast<size_t>(numbers_[index]));
  }
  std::string_view StoredText(size_t place) const {
    const size_t begin = place == 0 ? 0 : text_ends_[place - 1];
    return std::string_view(text_).substr(begin, text_ends_[place] - begin);
  }
  Value ValueAt(size_t index) const;

  static constexpr uint32_t kNoForm = UINT32_MAX;

  uint32_t plain_form_ = kNoForm;  // Of all values, while they are held alike and none is text.
  uint32_t text_form_ = kNoForm;   // The same, while all are text.
  uint32_t form_ = kNoForm;        // Of the last value; tag_ is its tag.
  uint8_t tag_ = 0;
  std::vector<int64_t> numbers_;  // Of text: its place among those that are stored.
  bool mixed_ = false;
  std::vector<uint8_t> tags_;  // Where they differ.
  // A text like the one before it, as of rows side by side, is stored once.
  std::string text_;
  std::vector<size_t> text_ends_;
  size_t last_begin_ = 0;  // Of the last of them.
  size_t text_bytes_ = 0;
  uint64_t seen_tags_ = 0;
};

// Reads `count` values that Encode wrote; false if the bytes are malformed.
bool DecodeColumn(std::string_view bytes, size_t count, ColumnData* data);

// Text of a column block (storage/FORMAT.md, Text): bytes, compressed by zstd where that helps.
void AppendText(std::string_view text, std::string* out);
// *text is replaced. False if the bytes are malformed.
bool ReadText(ByteReader* in, std::string* text);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_COLUMN_CODEC_H_
