// CRC-32C (Castagnoli) as LevelDB computes it, declared here because its installed headers do not.
// What checks LevelDB's files asks the function that LevelDB asks; which one that is, says crc32c.cc.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
#define TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace leveldb::crc32c {

// Of what `crc` is the checksum of, followed by `count` bytes; 0 is the checksum of nothing.
uint32_t Extend(uint32_t crc, const char* data, size_t count);

}  // namespace leveldb::crc32c

#endif  // TALLYD_STORAGE_LEVELDB_ENV_CRC32C_H_
