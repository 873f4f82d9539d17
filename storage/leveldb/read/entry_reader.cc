#include "storage/leveldb/read/entry_reader.h"

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

constexpr uint32_t kKnownSets = 4096;

}  // namespace

bool EntryReader::Read(std::string_view stored, StoredCells* cells) {
  cells->set = nullptr;
  cells->columns.clear();
  ByteReader in(stored);
  EntryHead head;
  if (!GetEntryHead(&in, &head)) return false;
  Value value;
  if (head.tag == EntryTag::kByName) {
    ColumnRef column;
    cells->values.clear();
    for (uint32_t i = 0; i < head.number; ++i) {
      if (!GetColumn(&in, &column) || !DecodeValue(&in, &value) || value.is_null()) return false;
      cells->columns.push_back(column);
      cells->values.push_back(value);
    }
    return in.done();
  }
  cells->set = FindSet(head.number);
  if (cells->set == nullptr) return false;
  cells->values.resize(cells->set->columns.size());
  for (Value& each : cells->values) {
    if (!DecodeValue(&in, &each)) return false;
    if (each.is_null() && head.tag == EntryTag::kBySet) return false;
  }
  return in.done();
}

const ColumnSet* EntryReader::MeetSet(uint32_t number) {
  const ColumnSet* const set = sets_.Find(table_, number);
  if (number >= kKnownSets) return set;
  if (number >= known_.size()) known_.resize(number + 1);
  known_[number] = set;
  return set;
}

}  // namespace tallyd
