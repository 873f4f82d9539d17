#include "storage/leveldb/files/opener.h"

#include <fmt/format.h>
#include <leveldb/write_batch.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "storage/bytes/coding.h"
#include "storage/descriptors.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/directory.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/block_file.h"

namespace tallyd {
namespace {

constexpr size_t kBlockBytes = 16u << 10;
// Base takes the latest rows of each head that is sealed, and little else.
constexpr size_t kBaseWriteBuffer = 8u << 20;

Error Missing(const std::string& what, const std::string& why) {
  return Error(ErrorCode::kCorruption,
               fmt::format("{} is missing: {}. {}", what, why, kDamageAdvice));
}

Error DamageIn(const TornTail& tail, const std::string& why) {
  return Error(ErrorCode::kCorruption,
               fmt::format("{} is damaged: from byte {} to its end it is not what was written, and "
                           "{}. {}",
                           tail.file, tail.begin, why, kDamageAdvice));
}

// Of base; kNotFound if it has no such record.
Result<std::string> GetRecord(leveldb::DB* base, const std::string& key) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string value;
  const Status got = FromLevelDb(base->Get(options, key, &value));
  if (!got) return got.error();
  return value;
}

Result<std::string> GetMeta(leveldb::DB* base, MetaKind kind) {
  return GetRecord(base, MetaKey(kind));
}

bool IsUnexpected(const Result<std::string>& record) {
  return !record && record.error().code() != ErrorCode::kNotFound;
}

}  // namespace

std::string UnfinishedAdvice(const std::string& path) {
  return fmt::format(
      "{} holds what a restore or salvage left that did not end: there is no store "
      "in it yet. Move what is in {} aside, and restore or salvage again",
      path, path);
}

Opener::Opener(const StorageConfig& config, StoreEnv* env, leveldb::Cache* cache,
               Disposer* disposer)
    : config_(config),
      env_(env),
      cache_(cache),
      disposer_(disposer),
      heads_directory_(HeadsDirectory(config.path)),
      filter_(config.bloom_bits > 0
                  ? leveldb::NewBloomFilterPolicy(static_cast<int>(config.bloom_bits))
                  : nullptr) {}

Result<OpenedFiles> Opener::Open(size_t head_bytes, bool may_create) {
  head_bytes_ = head_bytes;
  const Result<Found> found = Judge(may_create);
  if (!found) return found.error();
  OpenedFiles opened;
  Status done = OpenBase(found->base, &opened);
  if (done) done = WriteFormat(*found, &opened);
  if (done) done = OpenHeads(*found, &opened);
  if (!done) return done.error();
  return opened;
}

// Under LevelDB's lock: another process may be writing.
Result<Opener::Found> Opener::Judge(bool may_create) const {
  leveldb::FileLock* lock = nullptr;
  const Status locked = FromLevelDb(env_->LockFile(config_.path + "/" + kLockName, &lock));
  if (!locked && locked.error().code() == ErrorCode::kConflict) {
    return locked.error().Prefixed("it is in use by another process");
  }
  if (!locked) return locked.error();
  Result<Found> found = JudgeLocked(may_create);
  const Status unlocked = FromLevelDb(env_->UnlockFile(lock));
  if (!unlocked && found) return unlocked.error();
  return found;
}

Result<Opener::Found> Opener::JudgeLocked(bool may_create) const {
  Result<WalCheck> checked = CheckBase();
  if (!checked) return checked.error();
  if (!checked->exists && !may_create) {
    return Error(ErrorCode::kIo,
                 fmt::format("{}/{} is gone, and was there: put the directory back as it was",
                             config_.path, kCurrentName));
  }
  Found found;
  found.base = std::move(*checked);
  OverlayEnv overlay(env_);
  Result<std::unique_ptr<leveldb::DB>> base = OpenUnchanged(found.base, &overlay);
  if (!base) return base.error();
  const Result<std::optional<uint32_t>> format = CheckFormat(base->get());
  if (!format) return format.error();
  found.format = *format;
  const Result<std::string> store = GetMeta(base->get(), MetaKind::kStoreId);
  if (IsUnexpected(store)) return store.error();
  if (store) found.store = *store;
  const Result<std::string> record = GetMeta(base->get(), MetaKind::kSealedHead);
  const Result<std::string> tables = GetMeta(base->get(), MetaKind::kNextTable);
  if (IsUnexpected(record)) return record.error();
  if (IsUnexpected(tables)) return tables.error();
  if (record && !ByteReader(*record).GetU64(&found.sealed)) {
    return Error(ErrorCode::kCorruption, "the record of the last sealed head is malformed");
  }
  Result<std::vector<FoundHead>> heads = FindHeads(found.sealed, record || tables);
  if (!heads) return heads.error();
  found.heads = std::move(*heads);
  return found;
}

// What base says decides over the heads: it is asked before any byte of it becomes another.
Result<std::unique_ptr<leveldb::DB>> Opener::OpenUnchanged(const WalCheck& base,
                                                           OverlayEnv* overlay) const {
  const Status cut = CutTails(overlay, base.tails);
  if (!cut) return cut.error();
  leveldb::Options options = CommonOptions();
  options.create_if_missing = !base.exists;
  options.env = overlay;
  options.filter_policy = filter_.get();
  leveldb::DB* db = nullptr;
  const Status done = FromLevelDb(leveldb::DB::Open(options, config_.path, &db));
  if (!done) return done.error();
  overlay->Freeze();
  return std::unique_ptr<leveldb::DB>(db);
}

leveldb::Options Opener::CommonOptions() const {
  leveldb::Options options;
  options.paranoid_checks = true;
  options.env = env_;
  options.max_open_files = static_cast<int>(DescriptorsOfProcess().tables);
  options.block_cache = cache_;
  options.block_size = kBlockBytes;
  options.max_file_size = config_.max_file_size;
  return options;
}

Status Opener::OpenBase(const WalCheck& checked, OpenedFiles* opened) {
  Status done = TellAndCutTails(checked);
  if (!done) return done;
  leveldb::Options options = CommonOptions();
  options.create_if_missing = !checked.exists;
  options.write_buffer_size = std::min(head_bytes_.load(), kBaseWriteBuffer);
  options.filter_policy = filter_.get();
  leveldb::DB* db = nullptr;
  done = FromLevelDb(leveldb::DB::Open(options, config_.path, &db));
  opened->base.reset(db);
  // Whether CURRENT, which names what was just written, is there to stay.
  return done ? FromLevelDb(env_->SyncDirectory(config_.path)) : done;
}

Result<WalCheck> Opener::CheckBase() const {
  const bool is_unfinished = env_->FileExists(config_.path + "/" + kUnfinishedName) &&
                             !env_->FileExists(config_.path + "/" + kCurrentName);
  if (is_unfinished) return Error(ErrorCode::kConflict, UnfinishedAdvice(config_.path));
  Result<WalCheck> base = CheckWriteAheadLogs(env_, config_.path, Sync::kAlways);
  if (!base || base->exists) return base;
  for (const std::string& directory : {heads_directory_, BlockFilesDirectory(config_.path)}) {
    const Result<bool> holds_anything = HoldsAnything(env_, directory);
    if (!holds_anything) return holds_anything.error();
    if (!*holds_anything) continue;
    return Missing(config_.path + "/" + kCurrentName,
                   directory + " holds data, and base, which says what of it counts, is gone");
  }
  return base;
}

// Nothing where there is none yet: what has no format is empty, and no other program's.
Result<std::optional<uint32_t>> Opener::CheckFormat(leveldb::DB* base) const {
  const Result<std::string> stored = GetMeta(base, MetaKind::kFormat);
  if (IsUnexpected(stored)) return stored.error();
  if (!stored) {
    const Status empty = CheckEmpty(base);
    if (!empty) return empty.error();
    return std::nullopt;
  }
  const Result<uint32_t> version = DecodeFormat(*stored);
  if (!version) return version.error();
  if (IsReadableFormat(*version)) return *version;
  return Error(ErrorCode::kConflict,
               fmt::format("the data has format version {}; this tallyd reads versions {} to {}. "
                           "Use the tallyd that wrote it, or another storage.path",
                           *version, kOldestFormatVersion, kFormatVersion));
}

Status Opener::CheckEmpty(leveldb::DB* base) const {
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> iterator(base->NewIterator(checked));
  iterator->SeekToFirst();
  if (iterator->Valid()) {
    return Error(ErrorCode::kConflict,
                 "the database in storage.path was not made by tallyd; use another path");
  }
  const Status read = FromLevelDb(iterator->status());
  if (!read) return read;
  for (const std::string& directory : {heads_directory_, BlockFilesDirectory(config_.path)}) {
    const Result<bool> holds_anything = HoldsAnything(env_, directory);
    if (!holds_anything) return holds_anything.error();
    if (!*holds_anything) continue;
    return Missing("what base in " + config_.path + " held",
                   "it is empty, and " + directory + " holds data");
  }
  return {};
}

// Before anything else that an older tallyd would misread.
Status Opener::WriteFormat(const Found& found, OpenedFiles* opened) const {
  opened->store = found.store.empty() ? NewStoreId() : found.store;
  if (found.format == kFormatVersion && !found.store.empty()) return {};
  leveldb::WriteOptions options;
  options.sync = true;
  leveldb::WriteBatch batch;
  batch.Put(MetaKey(MetaKind::kFormat), EncodeFormat(kFormatVersion));
  if (found.store.empty()) batch.Put(MetaKey(MetaKind::kStoreId), opened->store);
  return FromLevelDb(opened->base->Write(options, &batch));
}

// One of a store that is alike would be read as if it were this one's.
Status Opener::CheckStore(const Head& head, const std::string& path, const std::string& store) {
  const Result<std::string> of = head.StoreId();
  if (!of) return of.error();
  if (of->empty() || *of == store) return {};
  return Error(ErrorCode::kCorruption,
               fmt::format("{} is a head of the store {}, and base is of the store {}: they were "
                           "put together from two. {}",
                           path, HexOfStoreId(*of), HexOfStoreId(store), kDamageAdvice));
}

// A head that lies there twice, or beside a base of another moment, would be read as what it is
// not.
Status Opener::CheckClaims(Head* head, const std::string& path, leveldb::DB* base,
                           BeforeHead* before) {
  const Result<HeadClaims> claims = HeadClaims::Read(&head->db());
  if (!claims) return claims.error().Prefixed(path);
  Result<Contradiction> found = claims->JudgePlace(head->number(), *before);
  if (found->empty()) {
    found = JudgeCopies(*claims, [base](const std::string& key) { return GetRecord(base, key); });
  }
  if (!found) return found.error();
  if (!found->empty()) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("{} contradicts what lies beside it: {}. They are of two moments, or "
                             "were put together. {}",
                             path, *found, kDamageAdvice));
  }
  if (claims->last_sequence() == 0) return {};
  *before = {std::max(before->last_sequence, claims->last_sequence()), true};
  return {};
}

Status Opener::OpenHeads(const Found& found, OpenedFiles* opened) {
  Status done;
  for (const std::string& made : {heads_directory_, BlockFilesDirectory(config_.path)}) {
    if (done) done = EnsureDirectory(env_, made);
    if (done) done = FromLevelDb(env_->HoldDirectory(made));
  }
  return done ? OpenFound(found.heads, opened) : done;
}

// `any_use`: tables were adopted, so there has been a head at every moment since.
Result<std::vector<Opener::FoundHead>> Opener::FindHeads(uint64_t sealed, bool any_use) const {
  Result<std::vector<uint64_t>> numbers = ListHeads(env_, heads_directory_);
  if (!numbers) return numbers.error();
  std::erase_if(*numbers, [&](uint64_t number) { return number <= sealed; });
  if (numbers->empty()) numbers->push_back(sealed + 1);
  std::vector<FoundHead> heads;
  for (const uint64_t number : *numbers) {
    heads.push_back({sealed + 1 + heads.size(), {}});
    if (heads.back().number == number) continue;
    return Missing(HeadPath(heads_directory_, heads.back().number),
                   "a later head is there, and base does not call this one sealed");
  }
  // The newest first: one that another one with data follows was whole when it was closed.
  bool later_has_data = false;
  for (size_t i = heads.size(); i-- > 0;) {
    const std::string path = HeadPath(heads_directory_, heads[i].number);
    Result<WalCheck> logs = CheckWriteAheadLogs(env_, path, config_.sync);
    if (!logs) return logs.error();
    if (!logs->exists && i + 1 < heads.size())
      return Missing(path + "/" + kCurrentName, "a later head is there");
    if (!logs->exists && i == 0 && any_use) {
      return Missing(path + "/" + kCurrentName,
                     "this head has what was committed last, and nothing else has");
    }
    for (const TornTail& tail : logs->tails) {
      if (later_has_data && tail.file.ends_with(".log"))
        return DamageIn(tail, "a later head has data");
    }
    later_has_data = later_has_data || logs->has_data;
    heads[i].logs = std::move(*logs);
  }
  const std::string files = BlockFilesDirectory(config_.path);
  const Result<bool> has_files = any_use ? Result<bool>(false) : HoldsAnything(env_, files);
  if (!has_files) return has_files.error();
  if (!any_use && (later_has_data || *has_files)) {
    return Missing(
        "what base in " + config_.path + " held",
        "it knows no table, and " + (later_has_data ? heads_directory_ : files) + " holds data");
  }
  return heads;
}

Status Opener::OpenFound(const std::vector<FoundHead>& found, OpenedFiles* opened) {
  const auto after_closed = [&](uint64_t number) {
    return Missing(HeadPath(heads_directory_, number), "the head before it is closed");
  };
  const Result<std::string> last = GetMeta(opened->base.get(), MetaKind::kLastSequence);
  if (IsUnexpected(last)) return last.error();
  BeforeHead before;
  if (last) ByteReader(*last).GetU64(&before.last_sequence);
  std::vector<Head*> left_open;
  bool is_closed = false;
  for (const FoundHead& head : found) {
    if (is_closed && !head.logs.exists) return after_closed(head.number);
    const Status cut = TellAndCutTails(head.logs);
    if (!cut) return cut;
    Result<std::shared_ptr<Head>> next = OpenJudged(head.number, head.logs);
    if (!next) return next.error();
    opened->heads.push_back(std::move(*next));
    Head* const at_hand = opened->heads.back().get();
    Status same = CheckStore(*at_hand, PathOf(head.number), opened->store);
    if (same) same = CheckClaims(at_hand, PathOf(head.number), opened->base.get(), &before);
    if (!same) return same;
    const Result<bool> closed = opened->heads.back()->IsClosed();
    if (!closed) return closed.error();
    is_closed = *closed;
    if (!is_closed) left_open.push_back(opened->heads.back().get());
  }
  if (is_closed) return after_closed(found.back().number + 1);
  left_open.pop_back();  // The newest.
  for (Head* head : left_open) {
    const Status marked = head->MarkClosed();
    if (!marked) return marked;
  }
  return {};
}

Result<std::shared_ptr<Head>> Opener::OpenHead(uint64_t number, const LogRoom& room) {
  // An attempt before may have got as far as to make it.
  Result<WalCheck> logs = CheckWriteAheadLogs(env_, PathOf(number), config_.sync);
  if (!logs) return logs.error();
  env_->ExpectLog(PathOf(number), room);
  return OpenJudged(number, *logs);
}

Result<std::shared_ptr<Head>> Opener::OpenJudged(uint64_t number, const WalCheck& logs) {
  const Status made = EnsureDirectory(env_, PathOf(number));
  if (!made) return made.error();
  leveldb::Options options = CommonOptions();
  options.create_if_missing = !logs.exists;
  Result<std::shared_ptr<Head>> head = Head::Open(heads_directory_, number, options, head_bytes_);
  if (!head) return head;
  const Status synced = FromLevelDb(env_->SyncDirectory(PathOf(number)));
  if (!synced) return synced.error();
  *head = disposer_->Watch(std::move(*head));
  return head;
}

std::string Opener::PathOf(uint64_t head) const { return HeadPath(heads_directory_, head); }

Status Opener::TellAndCutTails(const WalCheck& checked) {
  for (const TornTail& tail : checked.tails) {
    {
      const std::lock_guard lock(mutex_);
      torn_tails_.push_back(tail);
    }
    spdlog::warn(
        "store: {} ends in {} bytes from byte {} that are no whole records, as a crash "
        "leaves what was not acknowledged",
        tail.file, tail.bytes, tail.begin);
  }
  return CutTails(env_, checked.tails);
}

std::vector<TornTail> Opener::torn_tails() const {
  const std::lock_guard lock(mutex_);
  return torn_tails_;
}

}  // namespace tallyd
