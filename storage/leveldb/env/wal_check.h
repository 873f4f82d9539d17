// WalCheck: before a LevelDB is opened, tells the harmless end of its log or manifest from damage,
// which LevelDB itself passes over in silence, by what SYNCED says that an fsync has covered
// (marked_env.h).
//
// What is not whole below that is lost data: opening is refused, naming file and byte. Behind it a
// crash can leave one record in part, the last of the newest log, which was never acknowledged:
// such a tail is told of, cut off where LevelDB would stumble over it, and kept beside as
// NNNNNN.log.torn-N. What it holds may look like a record: one that really follows has a sequence
// number that can be. With Sync::kInterval it can be several records, whole ones among them.
// Refused is also what no crash leaves: other records after damage, an older log that does not
// reach to where the newer begins, a log or a manifest that should be there and is not. A file that
// the directory lists, and that cannot be read, is an error; none of it is taken for absent.
// The check changes nothing; nothing is ever repaired.
//
// REQUIRES: nobody else opens the directory.
//
// It reads by ScanLog, as do those who look into the files of a LevelDB without opening it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
#define TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_

#include <leveldb/env.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/env/torn_tail.h"

namespace tallyd {

// LogScan: LevelDB's log format (its doc/log_format.md), which logs and manifests share, read
// without trust: which records are whole, where the first bytes are that belong to none, and
// whether whole records begin after those. Zeros up to the end of the file are none of it.
// LevelDB's own reader answers less: it passes over zeros anywhere, and over a file that ends
// early, without a word.
struct LogScan {
  uint64_t records = 0;
  // Behind it only zeros follow, up to the file's end: room that DurableEnv made, as a rule.
  uint64_t end = 0;
  // Where what is not a whole record begins; `end` if nothing is.
  uint64_t good_end = 0;
  bool clean = true;
  // The file just ends inside a record, as after a crash; LevelDB takes that for its end.
  bool ends_early = false;
  // A record that begins after the damage and is whole.
  std::optional<uint64_t> good_after;
  // Up to where the record that is not whole says itself that it goes: what is before, it holds.
  uint64_t claimed_end = 0;
};

// The first fragment of what looks like a record.
struct RecordStart {
  uint64_t at = 0;
  std::string_view data;
  bool is_all = false;  // Of the record.
};

// Whether the four bytes at `checksum` are LevelDB's (masked CRC-32C) of the others.
bool IsChecksumOf(std::string_view bytes, const char* checksum);

// Calls `record` with each whole record up to the first damage; it returns false if the record's
// content cannot be, which is damage, too. `from`: where a record begins. `may_follow` is asked of
// what is whole behind the damage, as far as the scan has come, whether a record can begin so: a
// record that was torn may hold bytes that look like one. Without it any can.
LogScan ScanLog(
    std::string_view log, const std::function<bool(std::string_view)>& record, uint64_t from = 0,
    const std::function<bool(const LogScan& scan, const RecordStart& start)>& may_follow = {});

// What the edits of a manifest, read in order, come to.
struct ManifestFacts {
  uint64_t oldest_log = 0;  // In use; 0 before there is one.
  uint64_t last_sequence = 0;
};
// Takes up one record of a manifest; false if it is none.
bool ReadEdit(std::string_view edit, ManifestFacts* facts);

// What every refusal for damage ends with.
inline constexpr std::string_view kDamageAdvice =
    "No data was changed. Restore the directory from a backup, or copy what can still be read of "
    "it with `tallyd salvage`";

struct WalCheck {
  bool exists = false;    // There is a LevelDB, complete or not.
  bool has_data = false;  // Something was committed to it.
  std::vector<TornTail> tails;
};

// Of a directory that need not be there. kCorruption says what is damaged.
Result<WalCheck> CheckWriteAheadLogs(leveldb::Env* env, const std::string& directory, Sync sync);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
