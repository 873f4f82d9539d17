#include "storage/leveldb/seal/base_compaction.h"

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// The first and the last latest row, if there are two.
Records EndsOfLatest(leveldb::DB& base) {
  const std::string begin(1, static_cast<char>(KeySpace::kLatest));
  const std::string end = PrefixEnd(begin);
  const auto it = Database::NewIterator(&base);
  Records ends;
  it->Seek(begin);
  if (it->Valid() && ToView(it->key()) < end) {
    ends.emplace_back(it->key().ToString(), it->value().ToString());
  }
  it->Seek(end);
  if (it->Valid()) {
    it->Prev();
  } else {
    it->SeekToLast();
  }
  if (ends.empty() || !it->Valid() || ToView(it->key()) <= ends.front().first) return {};
  ends.emplace_back(it->key().ToString(), it->value().ToString());
  return ends;
}

}  // namespace

Status CompactBase(Database* database, const std::function<Status(const Records&)>& commit) {
  Records ends;
  for (const bool again : {false, true}) {
    if (again && ends.empty()) break;
    const Status committed = commit(ends);
    if (!committed) return committed;
    Result<std::unique_ptr<Lease>> lease = database->NewLeaseOfFiles();
    if (!lease) return lease.error();
    const Access access(lease->get());
    if (!access) return {};
    access.base().CompactRange(nullptr, nullptr);
    if (!again) ends = EndsOfLatest(access.base());
  }
  return {};
}

}  // namespace tallyd
