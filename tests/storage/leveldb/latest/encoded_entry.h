// An entry as latest rows are made of them: by a column set, or with its columns spelled out.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_LATEST_ENCODED_ENTRY_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_LATEST_ENCODED_ENTRY_H_

#include <span>
#include <string>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {

inline std::string EncodedEntry(ColumnRegistry* sets, const TableInfo& table, bool by_set,
                                std::span<const ColumnRef> columns,
                                std::span<const Value> values) {
  ByteBuffer buffer;
  if (by_set) {
    AppendEntry(*sets->Intern(table, columns), values, &buffer);
  } else {
    AppendEntry(columns, values, &buffer);
  }
  return std::string(buffer.View(0, buffer.size()));
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_LATEST_ENCODED_ENTRY_H_
