// Base's rows of latest tables, read when the store opens: pieces of them, of about one size on the
// disk, are read by as many threads as there are processors, up to eight. Where keys have a long
// beginning in common (all of one tenant), it may be one large piece.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_STORED_LATEST_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_STORED_LATEST_H_

#include <leveldb/db.h>

#include <cstdint>
#include <map>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "storage/leveldb/latest/latest_loader.h"
#include "storage/table_info.h"

namespace tallyd {

inline constexpr uint64_t kLatestPieceBytes = 8u << 20;

// Adds the rows of these tables to the loader, which has none yet; returns when all are there. What
// is of no table, or of a dropped one, is not looked at.
// kCorruption, naming the record, where one is malformed.
Status ReadStoredLatest(leveldb::DB* base, const std::map<TableId, TableInfo>& tables,
                        LatestLoader* loader, uint64_t piece_bytes = kLatestPieceBytes);

// Cuts a range of keys where pieces take about so many bytes on the disk, or more, so that they are
// 64 at most: ranges that follow each other, at least one. Keys are told apart by the eight bytes
// behind what the first and the last have in common: those that are alike there stay in one piece.
std::vector<KeyRange> CutByBytes(leveldb::DB* db, const KeyRange& range, uint64_t piece_bytes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_STORED_LATEST_H_
