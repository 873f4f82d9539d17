// CRC-32C (Castagnoli) as LevelDB computes it; its installed headers do not declare it. Who checks
// LevelDB's files asks the function that LevelDB asks: crc32c.cc says which one.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
#define TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace leveldb::crc32c {

// Of what `crc` is the checksum of, followed by `count` bytes; 0 is the checksum of nothing.
uint32_t Extend(uint32_t crc, const char* data, size_t count);

}  // namespace leveldb::crc32c

#endif  // TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
