// The records of streams and tables (storage/FORMAT.md, Meta), as every engine keeps them. Decode*
// fail with kCorruption on a record that a newer tallyd wrote or that is damaged.
#ifndef TALLYD_STORAGE_CATALOGUE_RECORD_CODEC_H_
#define TALLYD_STORAGE_CATALOGUE_RECORD_CODEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/table_info.h"

namespace tallyd {

// What of a stream may not change while tables of it hold rows.
struct StoredStream {
  TimeUnit unit = TimeUnit::kMilliseconds;
  std::vector<std::string> labels;  // Its list, in order and distinct.
  friend bool operator==(const StoredStream&, const StoredStream&) = default;
};

std::string EncodeStream(const StoredStream& stream);
Result<StoredStream> DecodeStream(std::string_view record);

// What of a TableInfo is stored: not its number (the key has it) nor what only the configuration in
// force says.
std::string EncodeTable(const TableInfo& table);
Result<TableInfo> DecodeTable(std::string_view record);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_CATALOGUE_RECORD_CODEC_H_
