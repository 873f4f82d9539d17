#include "storage/leveldb/catalogue/keyed_records.h"

#include "storage/bytes/coding.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {

std::vector<std::pair<std::string, std::string>> KeyedRecords(const CatalogueRecords& records) {
  std::vector<std::pair<std::string, std::string>> keyed;
  for (const auto& [name, stream] : records.streams) {
    keyed.emplace_back(StreamKey(name), EncodeStream(stream));
  }
  for (const TableInfo& table : records.tables) {
    keyed.emplace_back(TableKey(table.id), EncodeTable(table));
  }
  if (records.next_table) {
    PutU32(&keyed.emplace_back(MetaKey(MetaKind::kNextTable), "").second, *records.next_table);
  }
  return keyed;
}

}  // namespace tallyd
