// LogScan: LevelDB's log format (its doc/log_format.md), which logs and manifests share, read
// without trust: which records are whole, where the first bytes are that belong to none, and
// whether whole records begin after those. LevelDB's own reader answers less: it passes over zeros,
// and over a file that ends early, without a word.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_LOG_SCAN_H_
#define TALLYD_STORAGE_LEVELDB_ENV_LOG_SCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace tallyd {

struct LogScan {
  uint64_t records = 0;
  // Where what is not a whole record begins; the file's size if nothing is.
  uint64_t good_end = 0;
  bool clean = true;
  // The file just ends inside a record, as after a crash; LevelDB takes that for its end.
  bool ends_early = false;
  // A record that begins after the damage and is whole.
  std::optional<uint64_t> good_after;
};

// Whether the four bytes at `checksum` are LevelDB's (masked CRC-32C) of the others.
bool IsChecksumOf(std::string_view bytes, const char* checksum);

// Calls `record` with each whole record up to the first damage; it returns false if the record's
// content cannot be, which is damage, too. `from`: where a record begins.
LogScan ScanLog(std::string_view log, const std::function<bool(std::string_view)>& record,
                uint64_t from = 0);

// What the edits of a manifest, read in order, come to.
struct ManifestFacts {
  uint64_t oldest_log = 0;  // In use; 0 before there is one.
  uint64_t last_sequence = 0;
};
// Takes up one record of a manifest; false if it is none.
bool ReadEdit(std::string_view edit, ManifestFacts* facts);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_LOG_SCAN_H_
