#include "storage/leveldb/files/head_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "storage/bytes/coding.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

Result<std::optional<std::string>> Find(const FindRecord& base, const std::string& key) {
  Result<std::string> found = base(key);
  if (found) return std::optional<std::string>(std::move(*found));
  if (found.error().code() == ErrorCode::kNotFound) return std::optional<std::string>();
  return found.error();
}

std::string NameOf(TableId id, const TableInfo& table) {
  return fmt::format("table {} ({})", id, table.name);
}

Result<Contradiction> JudgeTableCopy(TableId id, const TableInfo& copy, const FindRecord& base) {
  const auto record = Find(base, TableKey(id));
  if (!record) return record.error();
  if (*record) {
    const Result<TableInfo> known = DecodeTable(**record);
    return known ? JudgeTable(copy, *known) : Contradiction();
  }
  // One that was dropped has its number behind it.
  const auto next = Find(base, MetaKey(MetaKind::kNextTable));
  if (!next) return next.error();
  TableId next_table = 0;
  if (*next && ByteReader(**next).GetU32(&next_table) && id >= next_table) {
    return fmt::format("it has entries of {}, and base, which is older, has given no such number",
                       NameOf(id, copy));
  }
  return Contradiction();
}

Result<Contradiction> JudgeSetCopy(const HeadClaims::Sets::value_type& copy,
                                   const FindRecord& base) {
  const auto& [table, set] = copy.first;
  const auto of_table = Find(base, TableKey(table));
  if (!of_table) return of_table.error();
  if (!*of_table) return Contradiction();
  const auto record = Find(base, ColumnSetKey(table, set));
  if (!record) return record.error();
  if (!*record) {
    return fmt::format("it uses set {} of the columns of table {}, and base, which is older, "
                       "has no such set",
                       set, table);
  }
  const Result<std::vector<Column>> known = DecodeColumnSet(**record);
  if (!known || *known == copy.second) return Contradiction();
  return fmt::format("set {} of the columns of table {} is another one in base", set, table);
}

}  // namespace

Result<HeadClaims> HeadClaims::Read(leveldb::DB* head) {
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  checked.fill_cache = false;
  HeadClaims claims;
  const std::unique_ptr<leveldb::Iterator> it(head->NewIterator(checked));
  for (const KeySpace space : {KeySpace::kMeta, KeySpace::kCopies}) {
    const std::string begin(1, static_cast<char>(space));
    for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) {
      const Status taken = claims.Take(ToView(it->key()), ToView(it->value()));
      if (!taken) return taken.error();
    }
    if (const Status read = FromLevelDb(it->status()); !read) return read.error();
  }
  return claims;
}

Status HeadClaims::Take(std::string_view key, std::string_view value) {
  if (key == MetaKey(MetaKind::kHeadOrigin)) {
    Result<HeadOrigin> origin = DecodeHeadOrigin(value);
    if (!origin) return origin.error();
    origin_ = *origin;
  }
  if (key == MetaKey(MetaKind::kLastSequence)) ByteReader(value).GetU64(&last_sequence_);
  if (key.size() < 3 || static_cast<KeySpace>(key[0]) != KeySpace::kCopies ||
      static_cast<KeySpace>(key[1]) != KeySpace::kMeta) {
    return {};
  }
  ByteReader in(key.substr(3));
  TableId table = 0;
  uint32_t set = 0;
  switch (static_cast<MetaKind>(key[2])) {
    case MetaKind::kTable:
      if (Result<TableInfo> copy = DecodeTable(value); copy && in.GetU32(&table)) {
        copy->id = table;
        tables_.insert_or_assign(table, std::move(*copy));
      }
      break;
    case MetaKind::kColumnSet:
      if (auto copy = DecodeColumnSet(value); copy && in.GetU32(&table) && in.GetU32(&set)) {
        sets_.insert_or_assign({table, set}, std::move(*copy));
      }
      break;
    default:
      break;
  }
  return {};
}

Contradiction HeadClaims::JudgePlace(uint64_t number, const BeforeHead& before) const {
  if (!origin_) return {};
  if (origin_->number != number) return fmt::format("it is a copy of head {}", origin_->number);
  if (origin_->after < before.last_sequence) {
    return fmt::format("it began behind the commit {}, and what lies before it ends with {}: both "
                       "may hold the same",
                       origin_->after, before.last_sequence);
  }
  if (before.is_head && origin_->after > before.last_sequence) {
    return fmt::format("it began behind the commit {}, and the head before it ends with {}: that "
                       "one is an older copy",
                       origin_->after, before.last_sequence);
  }
  return {};
}

Contradiction JudgeTable(const TableInfo& of_head, const TableInfo& of_base) {
  const auto is_other = [&](std::string_view what) {
    return fmt::format("its entries of {} are of another table than base has under that number: "
                       "its {} is another one",
                       NameOf(of_head.id, of_head), what);
  };
  if (of_head.stream != of_base.stream) return is_other("stream");
  if (of_head.mode != of_base.mode) return is_other("pattern");
  if (of_head.row_key != of_base.row_key) return is_other("row_key");
  const auto& families = of_base.families;
  if (of_head.families.size() > families.size()) {
    return fmt::format("it has entries of a family of {} that base, which is older, does not know",
                       NameOf(of_head.id, of_head));
  }
  const bool same = std::equal(of_head.families.begin(), of_head.families.end(), families.begin(),
                               [](const StoredFamily& one, const StoredFamily& other) {
                                 return one.name == other.name;
                               });
  return same ? Contradiction() : is_other("list of families");
}

Result<Contradiction> JudgeCopies(const HeadClaims& claims, const FindRecord& base) {
  for (const auto& [id, copy] : claims.tables()) {
    Result<Contradiction> found = JudgeTableCopy(id, copy, base);
    if (!found || !found->empty()) return found;
  }
  for (const auto& copy : claims.sets()) {
    Result<Contradiction> found = JudgeSetCopy(copy, base);
    if (!found || !found->empty()) return found;
  }
  return Contradiction();
}

}  // namespace tallyd
