// leveldb::Status becomes Error here and nowhere else.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_
#define TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_

#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <string_view>

#include "config/values/result.h"

namespace tallyd {

// A full disk (or quota) is kNoSpace, a file locked by another process kConflict.
Status FromLevelDb(const leveldb::Status& status);

// kCorruption, naming the record by its key in hexadecimal digits.
Error UnreadableRecord(std::string_view key, std::string_view why);

inline leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_
