#include "storage/leveldb/seal/rewrite.h"

#include <algorithm>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/seal/rewrite_parts.h"
#include "storage/leveldb/seal/run_sealer.h"

namespace tallyd {
namespace {

constexpr uint32_t kEntriesPerStep = 512;
// A block that is at least so full is copied as it is, where that is possible.
constexpr uint32_t kFullEnough = 1024;
// Shorter runs of the same columns are copied entry by entry.
constexpr uint32_t kLeastRun = 4;

Error Stopped() { return Error(ErrorCode::kCancelled, "the store is closing"); }

Status MayGoOn(const RewriteInput& input) {
  input.pacer->Pace();
  if (input.stopping()) return Stopped();
  return input.yield ? input.yield() : Status();
}

// Of the lease's moment. A revoked lease has none; nothing can be read through it either.
DeleteList DeletesOf(Lease* lease, TableId table) {
  const LeaseAccess access(lease);
  return access ? access.view().DeletesOf(table) : DeleteList();
}

// The files of a table beside these that may hold what an entry of these covers.
View::Files OthersOf(Lease* lease, const TableInfo& table, const View::Files& from) {
  const LeaseAccess access(lease);
  if (!access) return {};
  return FilesCoveredBy(from, access.view().FilesOf(table.id), HasAggregates(table));
}

uint64_t LastOf(const DeleteList& deletes) {
  uint64_t last = 0;
  for (const auto& deleted : deletes) last = std::max(last, deleted->sequence);
  return last;
}

// Files of one batch are written before the first is waited for: the file system has then much of
// it on the disk already. What is finished has been read back: whatever it was made from goes.
class FileBatch {
 public:
  explicit FileBatch(const RewriteInput& input) : input_(input) {}
  ~FileBatch() {
    for (const BlockFilePtr& file : files_) file->Drop();
  }

  Status Add(std::vector<std::unique_ptr<BlockFileWriter>> written) {
    for (auto& writer : written) written_.push_back(std::move(writer));
    return written_.size() < kFilesAtOnce ? Status() : Sync();
  }
  Result<std::vector<BlockFilePtr>> Finish() {
    Status synced = Sync();
    if (synced && !files_.empty()) synced = input_.database->shelf().SyncDirectory();
    if (!synced) return synced.error();
    return std::exchange(files_, {});
  }

 private:
  static constexpr size_t kFilesAtOnce = 64;

  Status Sync() {
    for (const auto& writer : written_) {
      const Status synced = writer->Sync();
      if (!synced) return synced;
      files_.push_back(writer->Finish());
      const Status checked = files_.back()->CheckWritten([this] { return MayGoOn(input_); });
      if (!checked) return checked;
    }
    written_.clear();
    return {};
  }

  const RewriteInput& input_;
  std::vector<std::unique_ptr<BlockFileWriter>> written_;
  std::vector<BlockFilePtr> files_;
};

class HeadSealer {
 public:
  HeadSealer(const RewriteInput& input, Lease* lease)
      : input_(input), lease_(lease), batch_(input) {}

  Result<SealedHead> Seal() {
    Status done = ReadRecords();
    if (done) done = ReadChecksum();
    for (const TablePtr& table : input_.state->catalogue.Tables()) {
      if (done && table->mode == TableMode::kHistory) done = SealTable(table);
    }
    if (!done) return done.error();
    Result<std::vector<BlockFilePtr>> files = batch_.Finish();
    if (!files) return files.error();
    sealed_.files = std::move(*files);
    return std::move(sealed_);
  }

 private:
  Status ReadRecords() {
    const LeaseAccess access(lease_);
    if (!access) return Reopening();
    leveldb::Iterator& it = access.iterator(0);
    sealed_.head = access.view().heads.front()->number();
    it.Seek(MetaKey(MetaKind::kLastSequence));
    if (it.Valid() && ToView(it.key()) == MetaKey(MetaKind::kLastSequence)) {
      ByteReader in(ToView(it.value()));
      if (!in.GetU64(&sealed_.last_sequence) || !in.done()) {
        return UnreadableRecord(ToView(it.key()), "it is not a sequence")
            .Prefixed(HeadPath(HeadsDirectory(input_.database->path()), sealed_.head));
      }
    }
    for (it.Seek(std::string(1, static_cast<char>(KeySpace::kDeletes))); it.Valid(); it.Next()) {
      sealed_.records.emplace_back(it.key().ToString(), it.value().ToString());
    }
    return FromLevelDb(it.status());
  }

  Status ReadChecksum() {
    const LeaseAccess access(lease_);
    if (!access) return Reopening();
    const Head& head = *access.view().heads.front();
    const Result<uint64_t> checksum = head.Checksum();
    if (!checksum) return checksum.error();
    const Result<uint64_t> others = head.ChecksumOfOthers();
    if (!others) return others.error();
    source_ = {FileSource::Kind::kHead, sealed_.head, *checksum};
    sealed_.note = {*checksum, *others};
    return {};
  }

  Status SealTable(const TablePtr& table) {
    HeadSource source(table->id, input_.state->sets);
    const Status begun = Begin(&source);
    if (!begun || !source.valid()) return begun;
    const DeleteList deletes = DeletesOf(lease_, table->id);
    WindowWriter writer({&input_.database->shelf(),
                         table,
                         std::max(sealed_.last_sequence, LastOf(deletes)),
                         input_.window_us,
                         &input_.state->next_file,
                         input_.bounds,
                         {source_}});
    ColumnPlan plan(table, input_.state->sets, input_.now,
                    input_.state->merges.TellingOf(table->id));
    KeptEntries kept(&plan, deletes, EarlierFiles(table->id), sealed_.last_sequence);
    const RunSealer::Options options{
        table->id, sealed_.last_sequence, !deletes.empty(), &plan, &kept, &writer};
    const HeadEntries* const runs = RunsOf(table->id);
    const Status done =
        runs != nullptr ? SealRuns(options, *runs) : SealEntries(&source, &kept, &writer);
    if (!done) return done;
    sealed_.dropped += kept.dropped();
    if (!kept.merges().empty()) sealed_.merges[table->id] = kept.merges();
    Result<std::vector<std::unique_ptr<BlockFileWriter>>> written = writer.Complete();
    return written ? batch_.Add(std::move(*written)) : Status(written.error());
  }

  const HeadEntries* RunsOf(TableId table) const {
    const LeaseAccess access(lease_);
    return access ? access.RunsOf(0, table) : nullptr;
  }

  Status SealRuns(const RunSealer::Options& options, const HeadEntries& runs) {
    std::optional<RunSealer> sealer;
    for (bool more = true; more;) {
      const Status go_on = MayGoOn(input_);
      if (!go_on) return go_on;
      const LeaseAccess access(lease_);
      if (!access) return Reopening();
      if (!sealer) sealer.emplace(options, runs);
      const Result<bool> stepped = sealer->Step(kEntriesPerStep);
      if (!stepped) return stepped.error();
      more = *stepped;
    }
    sealed_.entries += sealer->sealed();
    return {};
  }

  // Where they come one by one.
  Status SealEntries(HeadSource* source, KeptEntries* kept, WindowWriter* writer) {
    kept->Assign({source});
    for (bool more = true; more;) {
      Status done = MayGoOn(input_);
      if (!done) return done;
      const LeaseAccess access(lease_);
      if (!access) return Reopening();
      source->Use(&access.iterator(0));
      for (uint32_t step = 0; done && more && step < kEntriesPerStep; ++step) {
        const Result<bool> next = kept->Next();
        if (!next) return next.error();
        more = *next;
        if (more) done = writer->Add(kept->entry());
        sealed_.entries += more ? 1 : 0;
      }
      if (!done) return done;
    }
    return {};
  }

  // Most heads have nothing of most tables.
  Status Begin(HeadSource* source) const {
    const LeaseAccess access(lease_);
    if (!access) return Reopening();
    source->Use(&access.iterator(0));
    return source->SeekRow({});
  }

  // The files of a table that may hold what an entry of the head covers.
  View::Files EarlierFiles(TableId table) const {
    const LeaseAccess access(lease_);
    if (!access) return {};
    const View& view = access.view();
    return FilesCoveredBy(view.heads.front()->TimesOf(table), view.FilesOf(table));
  }

  const RewriteInput& input_;
  Lease* const lease_;
  FileBatch batch_;
  SealedHead sealed_;
  FileSource source_;  // The head.
};

class FileMerger {
 public:
  FileMerger(const RewriteInput& input, Lease* lease, std::vector<BlockFilePtr> from,
             const TablePtr& table)
      : input_(input),
        lease_(lease),
        from_(std::move(from)),
        deletes_(DeletesOf(lease, table->id)),
        plan_(table, input.state->sets, input.now, input.state->merges.TellingOf(table->id)),
        kept_(&plan_, deletes_, OthersOf(lease, *table, from_), std::nullopt),
        writer_({&input.database->shelf(), table, Deletes(), NextWidth(input.window_us),
                 &input.state->next_file, input.bounds, Sources()}) {}

  Result<MergedFiles> Merge() {
    std::vector<EntrySource*> sources;
    for (const BlockFilePtr& file : from_) {
      sources_.push_back(std::make_unique<BlockSource>(file, &plan_, TimeRange{0, kMaxTimeUs + 1}));
      sources.push_back(sources_.back().get());
      const Status begun = sources_.back()->SeekRow({});
      if (!begun) return begun.error();
    }
    kept_.Assign(sources);
    for (bool more = true; more;) {
      const Status go_on = MayGoOn(input_);
      if (!go_on) return go_on.error();
      const LeaseAccess access(lease_);
      if (!access) return Reopening();
      const Result<bool> stepped = Step();
      if (!stepped) return stepped.error();
      more = *stepped;
    }
    Result<std::vector<std::unique_ptr<BlockFileWriter>>> written = writer_.Complete();
    if (!written) return written.error();
    FileBatch batch(input_);
    const Status added = batch.Add(std::move(*written));
    if (!added) return added.error();
    Result<std::vector<BlockFilePtr>> files = batch.Finish();
    if (!files) return files.error();
    merged_.from = std::move(from_);
    merged_.dropped = kept_.dropped();
    if (!kept_.merges().empty()) merged_.merges[plan_.table().id] = kept_.merges();
    merged_.files = std::move(*files);
    return std::move(merged_);
  }

 private:
  uint64_t Deletes() const {
    uint64_t applied = LastOf(deletes_);
    for (const BlockFilePtr& file : from_) applied = std::max(applied, file->info().max_sequence);
    return applied;
  }

  std::vector<FileSource> Sources() const {
    std::vector<FileSource> sources;
    for (const BlockFilePtr& file : from_) {
      sources.push_back({FileSource::Kind::kFile, file->info().number, file->info().checksum});
    }
    return sources;
  }

  // Wide windows are split again, as far as the writer has so many open at once.
  int64_t NextWidth(int64_t least) const {
    const int64_t width = from_.front()->info().width;
    return width / kOpenWindows >= least ? width / kOpenWindows : width;
  }

  // Some entries; false at the end.
  Result<bool> Step() {
    for (uint32_t step = 0; step < kEntriesPerStep;) {
      const Result<uint32_t> copied = Copy();
      if (!copied) return copied.error();
      merged_.entries += *copied;
      step += std::max(*copied, 1u);
      if (*copied > 0) continue;
      const Result<bool> next = kept_.Next();
      if (!next || !*next) return next;
      const Status added = writer_.Add(kept_.entry());
      if (!added) return added.error();
      ++merged_.entries;
    }
    return true;
  }

  // What no other file shares the rows of, or of a row what is newer than all that others have, and
  // no delete touches, needs no look at single cells: a full block stays as it is, and of others
  // the columns of a run are copied. How many entries were.
  Result<uint32_t> Copy() {
    const EntrySource* alone = kept_.Alone(&bound_, &newer_than_);
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const auto& source) { return source.get() == alone; });
    if (found == sources_.end()) return 0u;
    BlockSource& source = **found;
    const BlockPlace& place = source.place();
    if (source.block().is_part()) return 0u;
    if (plan_.counts_versions() && place.entries != place.rows) return 0u;
    for (const auto& deleted : deletes_) {
      if (deleted->Touches(place.first_key, place.last_key, source.file().info().deletes)) {
        return 0u;
      }
    }
    const bool whole = source.at_block_begin() && place.entries >= kFullEnough &&
                       (bound_.empty() || place.last_key < bound_) && place.min_time > newer_than_;
    if (!whole) return CopyRun(&source);
    const Result<bool> copied = CopyBlock(&source);
    if (!copied) return copied.error();
    return *copied ? place.entries : CopyRun(&source);
  }

  Result<bool> CopyBlock(BlockSource* source) {
    const Status read = source->ReadBlock(&bytes_);
    if (!read) return read.error();
    const Result<bool> added = writer_.AddBlock(source->place(), bytes_, source->file().info());
    if (!added || !*added) return added;
    const Status skipped = source->SkipBlock();
    kept_.SourceMoved();
    if (!skipped) return skipped.error();
    return true;
  }

  Result<uint32_t> CopyRun(BlockSource* source) {
    const TimeRange kept{std::max(plan_.ageless_from(), newer_than_ + 1), kMaxTimeUs + 1};
    if (!source->RunsHaveAnyShape()) return CopyMixed(source, kept);
    const uint32_t length = source->RunLength(bound_, kept);
    if (length < kLeastRun) return 0u;
    const Result<const ShapeCells*> cells = source->RunCells();
    if (!cells) return cells.error();
    const Status sound = source->CheckEntriesHaveCells();
    if (!sound) return sound.error();
    return Skip(source, writer_.AddRun(source->block().RunOf(source->entry()),
                                       EntriesOf(*source, length), (*cells)->cells));
  }

  // Entries that have few of very many columns: each as one of its column set.
  Result<uint32_t> CopyMixed(BlockSource* source, const TimeRange& kept) {
    const uint32_t begin = source->entry();
    const uint32_t end = begin + source->MixedLength(bound_, kept);
    columns_.clear();
    for (uint32_t entry = begin; entry < end; ++entry) {
      const Result<const ShapeCells*> cells = source->CellsAt(entry);
      if (!cells) return cells.error();
      const ColumnSet* const set = (*cells)->set;
      if (set == nullptr || set->columns.size() != (*cells)->cells.size() ||
          writer_.IsWide(set->columns.size(), 0)) {
        break;
      }
      columns_.push_back({set, (*cells)->cells});
    }
    if (columns_.empty()) return 0u;
    const RunEntries entries = EntriesOf(*source, columns_.size());
    return Skip(source, writer_.AddRun(source->block().RunOf(begin), entries, columns_));
  }

  static RunEntries EntriesOf(const BlockSource& source, size_t count) {
    const ColumnBlock& block = source.block();
    return {source.entry(), block.times().All().subspan(source.entry(), count),
            block.sequences().subspan(source.entry(), count)};
  }

  // Past what was copied.
  Result<uint32_t> Skip(BlockSource* source, const Result<uint32_t>& copied) {
    if (!copied) return copied;
    const Status skipped = source->Skip(*copied);
    kept_.SourceMoved();
    if (!skipped) return skipped.error();
    return copied;
  }

  const RewriteInput& input_;
  Lease* const lease_;
  std::vector<BlockFilePtr> from_;
  const DeleteList deletes_;
  ColumnPlan plan_;
  KeptEntries kept_;
  WindowWriter writer_;
  std::vector<std::unique_ptr<BlockSource>> sources_;
  std::string bytes_;
  std::string bound_;  // As newer_than_, what Alone told.
  TimeUs newer_than_ = -1;
  std::vector<EntryColumns> columns_;
  MergedFiles merged_;
};

}  // namespace

Result<SealedHead> SealOldestHead(const RewriteInput& input, Lease* lease) {
  return HeadSealer(input, lease).Seal();
}

Result<MergedFiles> MergeFiles(const RewriteInput& input, Lease* lease,
                               std::vector<BlockFilePtr> from) {
  TablePtr table;
  for (const TablePtr& candidate : input.state->catalogue.Tables()) {
    if (candidate->id == from.front()->info().table) table = candidate;
  }
  if (!table) return Error(ErrorCode::kNotFound, "the table was dropped meanwhile");
  return FileMerger(input, lease, std::move(from), table).Merge();
}

}  // namespace tallyd
