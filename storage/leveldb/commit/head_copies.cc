#include "storage/leveldb/commit/head_copies.h"

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr int kSetBits = 32;
// Of a table itself; sets are fewer.
constexpr uint32_t kNoSet = 0xffffffff;

uint64_t CopyOf(TableId table, uint32_t set) { return uint64_t{table} << kSetBits | set; }

}  // namespace

void HeadCopies::Use(TableId table, std::string_view entry) {
  EntryHead head;
  ByteReader in(entry);
  if (!GetEntryHead(&in, &head)) return;
  UseCopy(CopyOf(table, head.tag == EntryTag::kByName ? kNoSet : head.number));
}

void HeadCopies::UseCopy(Copy copy) {
  Known& known = known_[copy];
  if (known.group == group_) return;
  known.group = group_;
  used_.push_back(copy);
  if (static_cast<uint32_t>(copy) != kNoSet) UseCopy(copy | kNoSet);
}

void HeadCopies::Put(uint64_t head, leveldb::WriteBatch* batch) {
  for (const Copy copy : used_) {
    Known& known = known_[copy];
    if (known.head != head) PutCopy(copy, batch);
    known.head = head;
  }
  used_.clear();
  ++group_;
}

void HeadCopies::Forget() {
  known_.clear();
  used_.clear();
}

void HeadCopies::PutCopy(Copy copy, leveldb::WriteBatch* batch) const {
  const auto table = static_cast<TableId>(copy >> kSetBits);
  const auto set = static_cast<uint32_t>(copy);
  const auto put = [&](std::string_view key, std::string_view value) {
    std::string copied(1, static_cast<char>(KeySpace::kCopies));
    batch->Put(copied.append(key), ToSlice(value));
  };
  if (set == kNoSet) {
    for (const auto& [key, value] : catalogue_.RecordsOf(table)) put(key, value);
  } else if (const ColumnSet* columns = sets_.Find(table, set)) {
    put(ColumnSetKey(table, set), EncodeColumnSet(columns->columns));
  }
}

}  // namespace tallyd
