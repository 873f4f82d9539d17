#include "storage/leveldb/codec/entry_codec.h"

#include <algorithm>
#include <limits>

namespace tallyd {

bool AppendEntry(const ColumnSet& set, std::span<const Value> values, ByteBuffer* out) {
  const size_t begin = out->size();
  size_t absent = 0;
  char* to = out->Reserve(1 + kMaxVarintBytes + values.size() * kMaxNumberBytes);
  to = EncodeVarint(to + 1, set.id);
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (value.type() >= ValueType::kString) {
      out->Finish(to);
      to = out->Reserve(MaxValueBytes(value) + (values.size() - i - 1) * kMaxNumberBytes);
    }
    absent += value.is_null() ? 1 : 0;
    to = EncodeValue(to, value);
  }
  const EntryTag tag = absent == 0 ? EntryTag::kBySet : EntryTag::kBySetSparse;
  out->data()[begin] = static_cast<char>(tag);
  out->Finish(absent == values.size() ? out->data() + begin : to);
  return absent < values.size();
}

bool AppendEntry(std::span<const ColumnRef> columns, std::span<const Value> values,
                 ByteBuffer* out) {
  size_t present = 0;
  size_t room = 1 + kMaxVarintBytes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    ++present;
    room += 2 * kMaxVarintBytes + columns[i].qualifier.size() + MaxValueBytes(values[i]);
  }
  if (present == 0) return false;
  char* to = out->Reserve(room);
  *to++ = static_cast<char>(EntryTag::kByName);
  to = EncodeVarint(to, present);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    const std::string_view qualifier = columns[i].qualifier;
    to = EncodeVarint(to, columns[i].family);
    to = EncodeVarint(to, qualifier.size());
    if (!qualifier.empty()) std::memcpy(to, qualifier.data(), qualifier.size());
    to = EncodeValue(to + qualifier.size(), values[i]);
  }
  out->Finish(to);
  return true;
}

bool GetEntryHead(ByteReader* in, EntryHead* head) {
  uint8_t tag = 0;
  if (!in->GetByte(&tag)) return false;
  if (tag < static_cast<uint8_t>(EntryTag::kBySet) ||
      tag > static_cast<uint8_t>(EntryTag::kBySetSparse)) {
    return false;
  }
  head->tag = static_cast<EntryTag>(tag);
  if (!in->GetNumber(&head->number, std::numeric_limits<uint32_t>::max())) return false;
  // A column by name takes at least three bytes.
  return head->tag != EntryTag::kByName || head->number <= in->left() / 3;
}

std::string_view ValuesOfEntry(std::string_view entry) {
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head) || head.tag == EntryTag::kByName) return {};
  return in.rest();
}

std::string WithSet(std::string_view entry, uint32_t set) {
  std::string changed(1, entry[0]);
  PutVarint(&changed, set);
  return changed.append(ValuesOfEntry(entry));
}

bool GetColumn(ByteReader* in, ColumnRef* column) {
  return in->GetNumber(&column->family, std::numeric_limits<FamilyId>::max()) &&
         in->GetString(&column->qualifier);
}

}  // namespace tallyd
