#include "storage/leveldb/seal/base_compaction.h"

#include "storage/leveldb/codec/key_codec.h"
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

}  // namespace

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
