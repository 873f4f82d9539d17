#include "storage/blocks/column_codec.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cmath>
#include <memory>

#include "config/values/integers.h"
#include "storage/blocks/int_codec.h"
#include "storage/blocks/int_reader.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

using Kind = ColumnData::Kind;

// DO NOT CHANGE THESE VALUES: they are stored. Text columns by a dictionary, or one by one.
enum TextForm : uint8_t { kOneByOne = 0, kDictionary = 1 };

constexpr int64_t PowerOfTen(unsigned n) {
  int64_t power = 1;
  for (; n > 0; --n) power *= 10;
  return power;
}

void PutKind(Kind kind, std::string* out) { out->push_back(static_cast<char>(kind)); }

// Fills *data->texts with pieces of data->owned, one per length.
bool CutTexts(std::span<const int64_t> lengths, ColumnData* data) {
  size_t at = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || static_cast<uint64_t>(length) > data->owned.size() - at) return false;
    data->texts.emplace_back(data->owned.data() + at, static_cast<size_t>(length));
    at += static_cast<size_t>(length);
  }
  return at == data->owned.size();
}

bool DecodeBools(ByteReader* in, size_t count, ColumnData* data) {
  data->numbers.resize(count);
  return ReadInts(in, data->numbers) && LieWithin(data->numbers, 0, 1);
}

bool DecodeTexts(ByteReader* in, size_t count, ColumnData* data) {
  uint8_t form = 0;
  if (!in->GetByte(&form) || form > kDictionary) return false;
  std::vector<int64_t>& numbers = data->numbers;
  if (form == kOneByOne) {
    numbers.resize(count);
    return ReadInts(in, numbers) && ReadText(in, &data->owned) && CutTexts(numbers, data);
  }
  uint64_t distinct = 0;
  if (!in->GetVarint(&distinct) || distinct > count) return false;
  numbers.resize(distinct);
  if (!ReadInts(in, numbers) || !ReadText(in, &data->owned) || !CutTexts(numbers, data)) {
    return false;
  }
  std::vector<std::string_view> words;
  words.swap(data->texts);
  numbers.resize(count);
  if (!ReadInts(in, numbers)) return false;
  for (const int64_t word : numbers) {
    if (word < 0 || static_cast<uint64_t>(word) >= words.size()) return false;
    data->texts.push_back(words[static_cast<size_t>(word)]);
  }
  return true;
}

bool DecodeDoubles(ByteReader* in, size_t count, ColumnData* data) {
  if (!ReadText(in, &data->owned) || data->owned.size() != count * sizeof(double)) return false;
  data->doubles.resize(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    for (size_t byte = 0; byte < sizeof bits; ++byte) {
      bits = bits << 8 | static_cast<uint8_t>(data->owned[byte * count + i]);
    }
    data->doubles[i] = std::bit_cast<double>(bits);
    if (!std::isfinite(data->doubles[i])) return false;
  }
  return true;
}

bool DecodeDecimals(ByteReader* in, size_t count, ColumnData* data) {
  if (!in->GetByte(&data->scale) || data->scale > Value::kMaxScale) return false;
  data->numbers.resize(count);
  Extremes within;
  if (!ReadInts(in, data->numbers, &within)) return false;
  return (within.least >= -Value::kMaxMantissa && within.greatest <= Value::kMaxMantissa) ||
         LieWithin(data->numbers, -Value::kMaxMantissa, Value::kMaxMantissa);
}

bool DecodeMixed(ByteReader* in, size_t count, ColumnData* data) {
  if (!ReadText(in, &data->owned)) return false;
  ByteReader values(data->owned);
  Value value;
  for (size_t i = 0; i < count; ++i) {
    if (!DecodeValue(&values, &value) || value.is_null()) return false;
    data->values.push_back(value);
  }
  return values.done();
}

}  // namespace

uint8_t ColumnBuffer::TagOf(const Value& value) {
  switch (value.type()) {
    case ValueType::kFloat64:
      return static_cast<uint8_t>(value.is_decimal() ? kDecimal + value.scale() : uint8_t{kDouble});
    case ValueType::kBool:
      return kBool;
    case ValueType::kString:
      return kString;
    case ValueType::kBytes:
      return kBytes;
    case ValueType::kInt64:
      break;
    case ValueType::kNull:
      assert(false);
  }
  return kInt;
}

void ColumnBuffer::AddOther(Value value) {
  if (value.form() != form_) MeetForm(value);
  if (mixed_) tags_.push_back(tag_);
  if (value.type() >= ValueType::kString) {
    AddText(value.AsView());
  } else {
    numbers_.push_back(value.bits());
  }
}

void ColumnBuffer::MeetForm(const Value& value) {
  const uint8_t tag = TagOf(value);
  form_ = value.form();
  if (!numbers_.empty() && tag != tag_ && !mixed_) {
    tags_.assign(numbers_.size(), tag_);
    mixed_ = true;
  }
  tag_ = tag;
  seen_tags_ |= uint64_t{1} << tag;
  const bool are_alike = std::has_single_bit(seen_tags_);
  const bool is_text = value.type() >= ValueType::kString;
  plain_form_ = are_alike && !is_text ? form_ : kNoForm;
  text_form_ = are_alike && is_text ? form_ : kNoForm;
}

void ColumnBuffer::StoreText(std::string_view text) {
  last_begin_ = text_.size();
  text_.append(text);
  text_ends_.push_back(text_.size());
}

// A text of a dictionary is where the one before it is, if they are the same.
void ColumnBuffer::AddRange(const ColumnData& data, size_t begin, size_t count) {
  const bool is_plain = data.kind == Kind::kInt || data.kind == Kind::kDecimal;
  const bool is_text = data.kind == Kind::kString || data.kind == Kind::kBytes;
  const auto are_same = [](std::string_view a, std::string_view b) {
    return a.data() == b.data() && a.size() == b.size();
  };
  const size_t end = begin + count;
  for (size_t next = begin; begin < end; begin = next) {
    Add(data.At(begin));
    next = is_plain ? end : begin + 1;
    while (is_text && next < end && are_same(data.texts[begin], data.texts[next])) ++next;
    const size_t more = next - begin - 1;
    if (mixed_) tags_.resize(tags_.size() + more, tag_);
    if (is_plain) {
      const auto first = data.numbers.begin() + static_cast<std::ptrdiff_t>(begin);
      numbers_.insert(numbers_.end(), first + 1, first + static_cast<std::ptrdiff_t>(more + 1));
    } else if (is_text) {
      numbers_.resize(numbers_.size() + more, numbers_.back());
      text_bytes_ += more * data.texts[begin].size();
    }
  }
}

void ColumnBuffer::Encode(std::string* out) const {
  constexpr uint64_t kAnyDecimal = ~((uint64_t{1} << kDecimal) - 1);
  if (Only(1u << kInt)) {
    PutKind(Kind::kInt, out);
    AppendInts(numbers_, out);
  } else if (Only(kAnyDecimal) && EncodeDecimals(out)) {
    return;
  } else if (Only(kAnyDecimal | 1u << kDouble)) {
    EncodeDoubles(out);
  } else if (Only(1u << kBool)) {
    PutKind(Kind::kBool, out);
    AppendInts(numbers_, out);
  } else if (Only(1u << kString)) {
    EncodeTexts(Kind::kString, out);
  } else if (Only(1u << kBytes)) {
    EncodeTexts(Kind::kBytes, out);
  } else {
    EncodeMixed(out);
  }
}

// False if there is no scale at which all of them are exact. It is the same float64 at any.
bool ColumnBuffer::EncodeDecimals(std::string* out) const {
  const auto scale =
      static_cast<unsigned>(63 - std::countl_zero(seen_tags_)) - static_cast<unsigned>(kDecimal);
  if (scale > Value::kMaxScale) return false;
  if (std::has_single_bit(seen_tags_)) {
    PutKind(Kind::kDecimal, out);
    out->push_back(static_cast<char>(scale));
    AppendInts(numbers_, out);
    return true;
  }
  thread_local std::vector<int64_t> scaled;
  scaled.clear();
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const unsigned missing = scale - (TagAt(i) - static_cast<unsigned>(kDecimal));
    if (missing > 15) return false;
    const int64_t factor = PowerOfTen(missing);
    if (std::abs(numbers_[i]) > Value::kMaxMantissa / factor) return false;
    scaled.push_back(numbers_[i] * factor);
  }
  PutKind(Kind::kDecimal, out);
  out->push_back(static_cast<char>(scale));
  AppendInts(scaled, out);
  return true;
}

// Byte by byte from the highest, so that signs and exponents, which vary little, stand together.
void ColumnBuffer::EncodeDoubles(std::string* out) const {
  PutKind(Kind::kDouble, out);
  std::string planes(numbers_.size() * sizeof(double), '\0');
  for (size_t i = 0; i < numbers_.size(); ++i) {
    uint64_t bits = std::bit_cast<uint64_t>(ValueAt(i).AsDouble());
    for (size_t byte = sizeof bits; byte-- > 0; bits >>= 8) {
      planes[byte * numbers_.size() + i] = static_cast<char>(bits & 0xff);
    }
  }
  AppendText(planes, out);
}

void ColumnBuffer::EncodeTexts(ColumnData::Kind kind, std::string* out) const {
  PutKind(kind, out);
  boost::unordered_flat_map<std::string_view, int64_t> places;
  std::vector<int64_t> lengths;
  thread_local std::vector<int64_t> words;
  words.resize(numbers_.size());
  std::string dictionary;
  const size_t most = numbers_.size() / 2;
  size_t done = 0;
  while (done < numbers_.size() && places.size() <= most) {
    const int64_t number = numbers_[done];
    const std::string_view text = TextAt(done);
    const auto [place, is_new] = places.try_emplace(text, static_cast<int64_t>(places.size()));
    const int64_t word = place->second;
    while (done < numbers_.size() && numbers_[done] == number) words[done++] = word;
    if (!is_new) continue;
    lengths.push_back(static_cast<int64_t>(text.size()));
    dictionary.append(text);
  }
  if (done == numbers_.size() && places.size() <= most) {
    out->push_back(static_cast<char>(kDictionary));
    PutVarint(out, lengths.size());
    AppendInts(lengths, out);
    AppendText(dictionary, out);
    AppendInts(words, out);
    return;
  }
  lengths.clear();
  std::string all;
  all.reserve(text_bytes_);
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const std::string_view text = TextAt(i);
    lengths.push_back(static_cast<int64_t>(text.size()));
    all.append(text);
  }
  out->push_back(static_cast<char>(kOneByOne));
  AppendInts(lengths, out);
  AppendText(all, out);
}

void ColumnBuffer::EncodeMixed(std::string* out) const {
  PutKind(Kind::kMixed, out);
  ByteBuffer bytes;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const Value value = ValueAt(i);
    bytes.Finish(EncodeValue(bytes.Reserve(MaxValueBytes(value)), value));
  }
  AppendText({bytes.data(), bytes.size()}, out);
}

Value ColumnBuffer::ValueAt(size_t index) const {
  const int64_t number = numbers_[index];
  switch (TagAt(index)) {
    case kInt:
      return Value::Int(number);
    case kDouble:
      return Value::Double(std::bit_cast<double>(number));
    case kBool:
      return Value::Bool(number != 0);
    case kString:
      return Value::String(TextAt(index));
    case kBytes:
      return Value::Bytes(TextAt(index));
    default:
      return Value::Decimal(number, static_cast<uint8_t>(TagAt(index) - kDecimal));
  }
}

// What has numbers sizes them itself: to clear them first would write them twice.
bool DecodeColumn(std::string_view bytes, size_t count, ColumnData* data) {
  data->doubles.clear();
  data->texts.clear();
  data->values.clear();
  data->owned.clear();
  data->scale = 0;
  ByteReader in(bytes);
  uint8_t kind = 0;
  if (!in.GetByte(&kind) || kind > static_cast<uint8_t>(Kind::kMixed)) return false;
  data->kind = static_cast<Kind>(kind);
  if (data->kind == Kind::kDouble || data->kind == Kind::kMixed) data->numbers.clear();
  bool good = false;
  switch (data->kind) {
    case Kind::kInt:
      data->numbers.resize(count);
      good = ReadInts(&in, data->numbers);
      break;
    case Kind::kBool:
      good = DecodeBools(&in, count, data);
      break;
    case Kind::kDecimal:
      good = DecodeDecimals(&in, count, data);
      break;
    case Kind::kDouble:
      good = DecodeDoubles(&in, count, data);
      break;
    case Kind::kString:
    case Kind::kBytes:
      good = DecodeTexts(&in, count, data);
      break;
    case Kind::kMixed:
      good = DecodeMixed(&in, count, data);
      break;
  }
  return good && in.done();
}

namespace {

constexpr int kLevel = 1;
// Below it a frame's own head eats what is won.
constexpr size_t kWorthCompressing = 48;
// A frame consists of blocks of at most 128 KiB each, and the smallest takes four bytes.
constexpr size_t kMaxRatio = ZSTD_BLOCKSIZE_MAX / 4;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

// Size of the text, size as stored, bytes; compressed where the sizes differ.
void AppendText(std::string_view text, std::string* out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  thread_local std::string packed;
  size_t size = text.size();
  if (text.size() >= kWorthCompressing) {
    packed.resize(ZSTD_compressBound(text.size()));
    size = ZSTD_compressCCtx(context.get(), packed.data(), packed.size(), text.data(), text.size(),
                             kLevel);
    if (ZSTD_isError(size) != 0 || size >= text.size()) size = text.size();
  }
  PutVarint(out, text.size());
  PutVarint(out, size);
  out->append(size < text.size() ? packed.data() : text.data(), size);
}

bool ReadText(ByteReader* in, std::string* text) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  uint64_t size = 0;
  std::string_view stored;
  if (!in->GetVarint(&size) || size > kMaxTextBytes || !in->GetString(&stored)) return false;
  if (stored.size() == size) {
    text->assign(stored);
    return true;
  }
  // The frame says its size itself, but a damaged one may promise more than so few bytes can hold.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != size ||
      size > stored.size() * kMaxRatio) {
    return false;
  }
  text->resize(size);
  const size_t read =
      ZSTD_decompressDCtx(context.get(), text->data(), size, stored.data(), stored.size());
  return ZSTD_isError(read) == 0 && read == size;
}

}  // namespace tallyd
