// CRC-32C (Castagnoli), as LevelDB's files have it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
#define TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace tallyd {

// Of what `crc` is the checksum of, followed by the bytes; 0 is the checksum of nothing.
uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
