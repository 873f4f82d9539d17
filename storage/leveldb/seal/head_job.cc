#include "storage/leveldb/seal/head_job.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr auto kPauseAfterFailure = std::chrono::milliseconds(500);
// A head with a delete is sealed soon: until then what it hides takes room and readers' time.
constexpr auto kDeleteDelay = std::chrono::milliseconds(500);
// Whoever commits to an empty head tells nobody.
constexpr auto kLook = std::chrono::seconds(1);
constexpr auto kLeastLook = std::chrono::milliseconds(5);

// A closed head is to be sealed before the next one has the so many-th part of its size.
constexpr uint64_t kHurryShare = 4;
// As long as one becomes full so soon after the other, they come in a burst.
constexpr auto kFastHead = std::chrono::seconds(5);
// Of the time in which a head became full the room of the next one's log may take a part.
constexpr int kTimesPerRoom = 4;

// Of latest rows or memos, in one commit.
constexpr size_t kStoredBytes = 256u << 10;

// Pieces of work between two steps of another job: each head is closed and sealed.
constexpr size_t kPiecesAYield = 2 * (kMaxClosedHeads + 1);

// The head behind a full one will be as large, and as soon, where that grew fast. A disk that takes
// long to write as much twice is not asked to.
LogRoom RoomAfter(const Head& full, std::chrono::steady_clock::time_point now) {
  const auto took = now - full.since();
  return took < kFastHead ? LogRoom{full.bytes(), took / kTimesPerRoom} : LogRoom();
}

// The next memos of a head, for base; false: these were the last.
Result<bool> ReadMemos(leveldb::Iterator* head, Records* records) {
  for (size_t bytes = 0; bytes < kStoredBytes; head->Next()) {
    const bool is_memo = head->Valid() && static_cast<KeySpace>(head->key()[0]) == KeySpace::kMemos;
    if (!is_memo) {
      if (const Status read = FromLevelDb(head->status()); !read) return read.error();
      return false;
    }
    const Result<std::optional<std::string_view>> value = DecodeMemo(ToView(head->value()));
    if (!value) return UnreadableRecord(ToView(head->key()), value.error().message());
    records->emplace_back(head->key().ToString(), *value ? head->value().ToString() : "");
    bytes += head->key().size() + head->value().size();
  }
  return true;
}

// The latest rows that a head has changes of, each once, in pieces. Between two calls the iterator
// stays where it is.
class ChangedRows {
 public:
  ChangedRows(const LatestTables* tables, size_t rows_at_once)
      : tables_(*tables), rows_at_once_(std::max<size_t>(1, rows_at_once)) {}

  // False: these were the last.
  Result<bool> AddTo(LevelDbBatch* batch, leveldb::Iterator* head) {
    if (!std::exchange(begun_, true)) {
      head->Seek(LatestChangesKey(0));
      Enter(*head);
    }
    for (size_t bytes = 0; batch->ops().size() < rows_at_once_ && bytes < kStoredBytes;) {
      if (changes_.done()) {
        if (!in_record_) return EndOf(*head);
        head->Next();
        Enter(*head);
        continue;
      }
      LatestChangeRecord change;
      if (!ReadLatestChange(&changes_, &change)) {
        return Error(ErrorCode::kCorruption, "a record of latest rows is malformed");
      }
      const LatestKey row{change.table, change.key};
      if (!added_.Add(row)) continue;
      batch->StoreRow(row.table, row.key);
      bytes += row.key.size() + tables_.SizeOf(row);
    }
    return true;
  }

 private:
  void Enter(const leveldb::Iterator& head) {
    in_record_ = head.Valid() && static_cast<KeySpace>(head.key()[0]) == KeySpace::kLatestChanges;
    changes_ = ByteReader(in_record_ ? ToView(head.value()) : std::string_view());
  }
  static Result<bool> EndOf(const leveldb::Iterator& head) {
    const Status read = FromLevelDb(head.status());
    if (!read) return read.error();
    return false;
  }

  const LatestTables& tables_;
  const size_t rows_at_once_;
  bool begun_ = false;
  bool in_record_ = false;
  ByteReader changes_{std::string_view()};  // Of the record at hand, what is left.
  LatestKeySet added_;
};

}  // namespace

bool HeadsPileUp(const View& view, uint64_t head_bytes) {
  const size_t closed = view.heads.size() - 1;
  return closed > 1 || (closed == 1 && view.heads.back()->bytes() >= head_bytes / kHurryShare);
}

Result<Progress> HeadJob::Work(const ViewPtr& view) {
  const Result<Progress> begun = BeginHead(*view);
  if (!begun || *begun == Progress::kSome || view->heads.size() == 1) return begun;
  const Status sealed = SealOldest();
  if (!sealed) return sealed.error();
  return Progress::kSome;
}

Status HeadJob::Yield() {
  const auto now = std::chrono::steady_clock::now();
  for (size_t piece = 0; piece < kPiecesAYield; ++piece) {
    // There may be a next head for as long as there is no time to spare.
    context_.database().Dispose();
    if (now < not_before_) return {};
    const ViewPtr view = context_.database().view();
    if (!view) return Reopening();
    const Result<Progress> worked = Work(view);
    if (worked && *worked == Progress::kNone) return {};
    if (worked) continue;
    const ErrorCode code = worked.error().code();
    if (code == ErrorCode::kUnavailable || code == ErrorCode::kCancelled) return worked.error();
    not_before_ = now + kPauseAfterFailure;
    return {};
  }
  return {};
}

Result<Progress> HeadJob::BeginHead(const View& view) {
  const Head& newest = *view.heads.back();
  const Time now = std::chrono::steady_clock::now();
  const auto delay = std::chrono::microseconds(context_.config().seal_delay_us);
  next_ = now + std::clamp<Time::duration>(delay / 2, kLeastLook, kLook);
  if (newest.bytes() == 0) return Progress::kNone;
  const bool settle = context_.settle.active && newest.number() <= context_.settle.head;
  const EngineState& state = context_.state();
  const bool has_delete =
      std::max(view.last_delete(), state.latest_deletes.last()) > state.sealed_sequence;
  const Time old_from = newest.since() + (has_delete ? std::min<Time::duration>(kDeleteDelay, delay)
                                                     : Time::duration(delay));
  const bool full =
      newest.bytes() >= context_.engine().head_bytes() && view.heads.size() <= kMaxClosedHeads;
  const bool old = view.heads.size() == 1 && now >= old_from;
  next_ = std::min(std::max(old_from, now), next_);
  if (!settle && !full && !old) return Progress::kNone;
  if (full) context_.burst_until = now + kFastHead;
  const bool expects = full && context_.config().sync == Sync::kAlways;
  const Result<bool> begun =
      context_.database().BeginHead(expects ? RoomAfter(newest, now) : LogRoom());
  if (!begun) return begun.error();
  return *begun ? Progress::kSome : Progress::kNone;
}

Status HeadJob::SealOldest() {
  const auto start = std::chrono::steady_clock::now();
  Result<std::unique_ptr<Lease>> lease = context_.database().NewLease();
  if (!lease) return lease.error();
  uint64_t head_bytes = 0;
  {
    const LeaseAccess access(lease->get());
    // The files may have been opened anew since a closed head was seen: this may be the newest.
    if (!access || access.view().opening != context_.opening()) return Reopening();
    head_bytes = access.view().heads.front()->bytes();
  }
  // What is sealed takes less than half of what it took, and that is freed.
  const Status room = context_.NeedRoomToFree(head_bytes / 2);
  if (!room) return room;
  Result<SealedHead> sealed = SealOldestHead(context_.Input(nullptr), lease->get());
  if (!sealed) return sealed.error();
  Status recorded = context_.SyncAppliedDeletes();
  if (recorded) recorded = StoreLatestRows(lease->get());
  if (recorded) recorded = StoreMemos(lease->get());
  lease->reset();
  if (recorded) recorded = context_.CommitRecords(sealed->records);
  if (!recorded) {
    for (const BlockFilePtr& file : sealed->files) file->Drop();
    return recorded;
  }
  recorded = Record(*sealed);
  if (!recorded) return recorded;
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : sealed->files) bytes += file->info().bytes;
  StoreMetrics& metrics = context_.metrics();
  metrics.sealed_entries.Increment(static_cast<double>(sealed->entries));
  metrics.CountDropped(sealed->dropped);
  metrics.sealed_bytes.Increment(static_cast<double>(bytes));
  metrics.sealed_heads.Increment();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::debug("store: sealed head {}: {} entries into {} files, {} bytes, in {:.3f} s",
                sealed->head, sealed->entries, sealed->files.size(), bytes, took.count());
  return {};
}

// Base gets the latest rows that the head changed, as they are by now: what came to them since is
// in the next heads, which say it again.
Status HeadJob::StoreLatestRows(Lease* lease) {
  ChangedRows rows(&context_.state().latest, context_.engine().rows_at_once());
  for (bool more = true; more;) {
    context_.Pace();
    auto batch = context_.NewBatch();
    {
      const LeaseAccess access(lease);
      if (!access) return Reopening();
      const Result<bool> added = rows.AddTo(batch.get(), &access.iterator(0));
      if (!added) return added.error();
      more = *added;
    }
    if (batch->empty()) continue;
    const Status stored = context_.committer().Commit(std::move(batch));
    if (!stored) return stored;
  }
  return {};
}

// Base gets what the head says of memos. The newer heads still have the say, and so has this one
// until it is recorded as sealed.
Status HeadJob::StoreMemos(Lease* lease) {
  for (bool begun = false, more = true; more; begun = true) {
    context_.Pace();
    Records records;
    {
      const LeaseAccess access(lease);
      if (!access) return Reopening();
      leveldb::Iterator& head = access.iterator(0);
      if (!begun) head.Seek(MemoKey({}));
      const Result<bool> read = ReadMemos(&head, &records);
      if (!read) return read.error();
      more = *read;
    }
    const Status stored = context_.CommitRecords(records);
    if (!stored) return stored;
  }
  return {};
}

// A start removes what is left of the head if it is this one. The note stays until that is certain:
// a reader may hold a head for long.
void HeadJob::NoteHead(const SealedHead& sealed, LevelDbBatch* batch) const {
  batch->PutRecord(HeadNoteKey(sealed.head), EncodeHeadNote(sealed.note));
  if (sealed.head <= kNotedHeads) return;
  const uint64_t old = sealed.head - kNotedHeads;
  Database& database = context_.database();
  const std::string heads = HeadsDirectory(database.path());
  if (!database.env()->FileExists(HeadPath(heads, old))) batch->DropRecord(HeadNoteKey(old));
}

Status HeadJob::Record(const SealedHead& sealed) {
  auto batch = context_.NewBatch();
  std::string number;
  PutU64(&number, sealed.head);
  batch->PutRecord(MetaKey(MetaKind::kSealedHead), number);
  number.clear();
  PutU64(&number, sealed.last_sequence);
  batch->PutRecord(MetaKey(MetaKind::kLastSequence), number);
  NoteHead(sealed, batch.get());
  EngineState& state = context_.state();
  const auto change = [&](View* view) {
    std::erase_if(view->heads, [&](const std::shared_ptr<Head>& head) {
      if (head->number() != sealed.head) return false;
      head->Drop();
      return true;
    });
    state.sealed_sequence = sealed.last_sequence;
  };
  return context_.Replace(std::move(batch), {}, sealed.files, change, sealed.merges);
}

}  // namespace tallyd
