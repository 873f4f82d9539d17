#include "storage/leveldb/seal/base_compaction.h"

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// Of latest rows, in one range.
constexpr size_t kRangeBytes = 4u << 20;

Error Reopening() { return Error(ErrorCode::kUnavailable, "the store reopened its files"); }

// The first and the last latest row of the range that begins at `start`; none at the end of all.
Result<Records> EndsOfRange(Lease* lease, const std::string& start) {
  const Access access(lease);
  if (!access) return Reopening();
  const std::string end = PrefixEnd(std::string(1, static_cast<char>(KeySpace::kLatest)));
  const auto it = Database::NewIterator(&access.base());
  Records ends;
  size_t bytes = 0;
  for (it->Seek(start); it->Valid() && ToView(it->key()) < end && bytes < kRangeBytes; it->Next()) {
    bytes += it->key().size() + it->value().size();
    if (ends.size() < 2) ends.emplace_back();
    ends.back().first.assign(ToView(it->key()));
    ends.back().second.assign(ToView(it->value()));
  }
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return ends;
}

Status CompactRange(Lease* lease, const std::string& begin, const std::string& end) {
  const Access access(lease);
  if (!access) return Reopening();
  const leveldb::Slice first(begin);
  const leveldb::Slice last(end);
  access.base().CompactRange(&first, &last);
  return {};
}

// The first latest row at or after `start`, as a key; empty at the end.
Result<std::string> NextRow(Lease* lease, const std::string& start) {
  const Access access(lease);
  if (!access) return Reopening();
  const auto it = Database::NewIterator(&access.base());
  it->Seek(start);
  const bool found =
      it->Valid() && static_cast<uint8_t>(it->key()[0]) == static_cast<uint8_t>(KeySpace::kLatest);
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return found ? it->key().ToString() : std::string();
}

// Up to a range of rows from `start` to `end`, as records that remove them.
Result<Records> RemovalsOf(Lease* lease, const std::string& start, const std::string& end) {
  const Access access(lease);
  if (!access) return Reopening();
  const auto it = Database::NewIterator(&access.base());
  Records removals;
  size_t bytes = 0;
  for (it->Seek(start); it->Valid() && ToView(it->key()) < end && bytes < kRangeBytes; it->Next()) {
    bytes += it->key().size() + it->value().size();
    removals.emplace_back(it->key().ToString(), std::string());
  }
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return removals;
}

}  // namespace

Status RemoveStrayRows(Database* database, const Catalogue& catalogue,
                       const std::function<Status(const Records&)>& commit,
                       const std::function<bool()>& stopping) {
  Result<std::unique_ptr<Lease>> lease = database->NewLeaseOfFiles();
  if (!lease) return lease.error();
  std::string start(1, static_cast<char>(KeySpace::kLatest));
  while (true) {
    if (stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Result<std::string> row = NextRow(lease->get(), start);
    if (!row) return row.error();
    if (row->size() < kTablePrefixBytes) return {};
    const TableId table = DecodeU32(row->data() + 1);
    const std::string end = TableEnd(KeySpace::kLatest, table);
    start = catalogue.Exists(table) ? end : *row;
    if (start == end) continue;
    const Result<Records> removals = RemovalsOf(lease->get(), start, end);
    if (!removals) return removals.error();
    const Status removed = commit(*removals);
    if (!removed) return removed;
  }
}

Status CompactBase(Database* database, const std::function<Status(const Records&)>& commit,
                   const std::function<bool()>& stopping) {
  Result<std::unique_ptr<Lease>> lease = database->NewLeaseOfFiles();
  if (!lease) return lease.error();
  std::string start(1, static_cast<char>(KeySpace::kLatest));
  Status done = CompactRange(lease->get(), std::string(), start);
  while (done) {
    if (stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Result<Records> ends = EndsOfRange(lease->get(), start);
    if (!ends) return ends.error();
    if (ends->empty()) return {};
    const std::string& last = ends->back().first;
    done = CompactRange(lease->get(), start, last);
    if (done) done = commit(*ends);
    if (done) done = CompactRange(lease->get(), start, last);
    start = last + std::string(1, '\0');
  }
  return done;
}

}  // namespace tallyd
