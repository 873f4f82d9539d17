#include "storage/leveldb/seal/rewrite.h"

#include <algorithm>
#include <unordered_set>

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/read/entry_stream.h"
#include "storage/leveldb/read/head_source.h"
#include "storage/leveldb/seal/window_writer.h"

namespace tallyd {
namespace {

constexpr uint32_t kEntriesPerStep = 512;
// A block that is at least so full is copied as it is, where that is possible.
constexpr uint32_t kFullEnough = 1024;
// Shorter runs are copied entry by entry.
constexpr uint32_t kLeastRun = 4;

Error Reopening() { return Error(ErrorCode::kUnavailable, "the store reopened its files"); }
Error Stopped() { return Error(ErrorCode::kCancelled, "the store is closing"); }

Status MayGoOn(const RewriteInput& input) {
  input.pacer->Pace();
  if (input.stopping()) return Stopped();
  return input.yield ? input.yield() : Status();
}

// Of the lease's moment. A revoked lease has none; nothing can be read through it either.
DeleteList DeletesOf(Lease* lease, TableId table) {
  const Access access(lease);
  return access ? access.view().DeletesOf(table) : DeleteList();
}

uint64_t LastOf(const DeleteList& deletes) {
  uint64_t last = 0;
  for (const auto& deleted : deletes) last = std::max(last, deleted->sequence);
  return last;
}

class HeadSealer {
 public:
  HeadSealer(const RewriteInput& input, Lease* lease, int64_t window_us)
      : input_(input), lease_(lease), window_us_(window_us) {}

  Result<SealedHead> Seal() {
    Status done = ReadRecords();
    for (const TablePtr& table : input_.state->catalogue.Tables()) {
      if (done && table->mode == TableMode::kHistory) done = SealTable(table);
    }
    if (done) return std::move(sealed_);
    for (const BlockFilePtr& file : sealed_.files) file->Drop();
    return done.error();
  }

 private:
  Status ReadRecords() {
    const Access access(lease_);
    if (!access) return Reopening();
    leveldb::Iterator& it = access.iterator(0);
    sealed_.head = access.view().heads.front()->number();
    it.Seek(MetaKey(MetaKind::kLastSequence));
    if (it.Valid() && ToView(it.key()) == MetaKey(MetaKind::kLastSequence)) {
      ByteReader(ToView(it.value())).GetU64(&sealed_.last_sequence);
    }
    std::unordered_set<std::string> latest;
    for (it.Seek(LatestChangesKey(0)); it.Valid(); it.Next()) {
      if (static_cast<KeySpace>(it.key()[0]) == KeySpace::kLatestChanges) {
        ByteReader in(ToView(it.value()));
        std::string_view key;
        std::string_view row;
        while (!in.done()) {
          if (!ReadLatestChange(&in, &key, &row)) {
            return Error(ErrorCode::kCorruption, "a record of latest rows is malformed");
          }
          latest.emplace(key);
        }
      } else {
        sealed_.records.emplace_back(it.key().ToString(), it.value().ToString());
      }
    }
    // As they are now: what came to them since is in the next heads, which say it again.
    for (const std::string& key : latest) {
      const LatestRow row = input_.state->latest.Get(key);
      sealed_.records.emplace_back(key, row ? *row : std::string());
    }
    return FromLevelDb(it.status());
  }

  Status SealTable(const TablePtr& table) {
    TimeRange times;
    const Status found = TimesOf(table->id, &times);
    if (!found || times.is_empty()) return found;
    const DeleteList deletes = DeletesOf(lease_, table->id);
    BlockFileInfo info;
    info.table = table->id;
    info.sequence = sealed_.last_sequence;
    info.deletes = std::max(info.sequence, LastOf(deletes));
    WindowWriter writer(input_.database->env(), BlockFilesDirectory(input_.database->path()), info,
                        times, window_us_, &input_.state->next_file);
    HeadSource source(table->id, input_.state->sets);
    EntryStream stream(table, deletes, input_.now);
    stream.Add(&source);
    for (bool begun = false, more = true; more; begun = true) {
      Status done = MayGoOn(input_);
      if (!done) return done;
      const Access access(lease_);
      if (!access) return Reopening();
      source.Use(&access.iterator(0));
      if (!begun) done = source.SeekRow({});
      for (uint32_t step = 0; done && more && step < kEntriesPerStep; ++step) {
        const Result<bool> next = stream.Next();
        if (!next) return next.error();
        more = *next;
        if (more) done = writer.Add(stream.entry());
        sealed_.entries += more ? 1 : 0;
      }
      if (!done) return done;
    }
    Result<std::vector<BlockFilePtr>> files = writer.Finish();
    if (!files) return files.error();
    sealed_.files.insert(sealed_.files.end(), files->begin(), files->end());
    return {};
  }

  // Of the table's entries; empty if it has none.
  Status TimesOf(TableId table, TimeRange* times) {
    {
      const Access access(lease_);
      if (!access) return Reopening();
      const std::optional<TimeRange> known = access.view().heads.front()->TimesOf(table);
      if (known) *times = *known;
      if (known) return {};
    }
    return FindTimes(table, times);
  }

  Status FindTimes(TableId table, TimeRange* times) {
    *times = {kMaxTimeUs + 1, 0};
    const std::string end = TableEnd(KeySpace::kRows, table);
    std::string next = TablePrefix(KeySpace::kRows, table);
    while (!next.empty()) {
      const Status go_on = MayGoOn(input_);
      if (!go_on) return go_on;
      const Access access(lease_);
      if (!access) return Reopening();
      leveldb::Iterator& it = access.iterator(0);
      it.Seek(next);
      next.clear();
      for (uint32_t step = 0; it.Valid() && ToView(it.key()) < end; it.Next()) {
        if (++step > kEntriesPerStep * 8) {
          next = it.key().ToString();
          break;
        }
        EntryKey entry;
        if (!ParseEntryKey(ToView(it.key()), &entry)) {
          return Error(ErrorCode::kCorruption, "a stored key is malformed");
        }
        times->from = std::min(times->from, entry.time);
        times->to = std::max(times->to, entry.time + 1);
      }
      const Status read = FromLevelDb(it.status());
      if (!read) return read;
    }
    return {};
  }

  const RewriteInput& input_;
  Lease* const lease_;
  const int64_t window_us_;
  SealedHead sealed_;
};

class FileMerger {
 public:
  FileMerger(const RewriteInput& input, Lease* lease, std::vector<BlockFilePtr> from,
             TablePtr table)
      : input_(input),
        lease_(lease),
        from_(std::move(from)),
        table_(std::move(table)),
        deletes_(DeletesOf(lease, table_->id)),
        plan_(table_, input.state->sets) {}

  Result<MergedFiles> Merge() {
    BlockFileInfo info = from_.back()->info();
    info.deletes = std::max(info.sequence, LastOf(deletes_));
    info.entries = 0;
    info.bytes = 0;
    WindowWriter writer(input_.database->env(), BlockFilesDirectory(input_.database->path()), info,
                        {info.window, info.window + 1}, info.width, &input_.state->next_file);
    EntryStream stream(table_, deletes_, input_.now);
    for (const BlockFilePtr& file : from_) {
      sources_.push_back(std::make_unique<BlockSource>(file, &plan_, TimeRange{0, kMaxTimeUs + 1}));
      stream.Add(sources_.back().get());
    }
    for (const auto& source : sources_) {
      const Status begun = source->SeekRow({});
      if (!begun) return begun.error();
    }
    for (bool more = true; more;) {
      const Status go_on = MayGoOn(input_);
      if (!go_on) return go_on.error();
      const Access access(lease_);
      if (!access) return Reopening();
      for (uint32_t step = 0; more && step < kEntriesPerStep;) {
        const Result<uint32_t> copied = Copy(&stream, &writer);
        if (!copied) return copied.error();
        merged_.entries += *copied;
        step += std::max(*copied, 1u);
        if (*copied > 0) continue;
        const Result<bool> next = stream.Next();
        if (!next) return next.error();
        more = *next;
        if (!more) break;
        const Status added = writer.Add(stream.entry());
        if (!added) return added.error();
        ++merged_.entries;
      }
      plan_.BeginRow();
    }
    Result<std::vector<BlockFilePtr>> files = writer.Finish();
    if (!files) return files.error();
    merged_.from = std::move(from_);
    merged_.files = std::move(*files);
    return std::move(merged_);
  }

 private:
  // What no other file shares the rows of, and no delete touches, needs no merging: a full block
  // stays as it is, and of others the columns of a run are copied. How many entries were.
  Result<uint32_t> Copy(EntryStream* stream, WindowWriter* writer) {
    bool bounded = false;
    const EntrySource* alone = stream->Alone(&bound_, &bounded);
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const auto& source) { return source.get() == alone; });
    if (found == sources_.end()) return 0u;
    BlockSource& source = **found;
    const BlockPlace& place = source.place();
    for (const auto& deleted : deletes_) {
      if (deleted->Touches(place.first_key, place.last_key, source.file().info().deletes)) {
        return 0u;
      }
    }
    const bool whole = source.at_block_begin() && place.entries >= kFullEnough &&
                       !(bounded && place.last_key >= bound_);
    return whole ? CopyBlock(&source, writer) : CopyRun(&source, bounded, *stream, writer);
  }

  Result<uint32_t> CopyBlock(BlockSource* source, WindowWriter* writer) {
    const BlockPlace place = source->place();
    Status done = source->ReadBlock(&bytes_);
    if (done) done = writer->only().AddBlock(place, bytes_);
    if (done) done = source->SkipBlock();
    if (!done) return done.error();
    return place.entries;
  }

  Result<uint32_t> CopyRun(BlockSource* source, bool bounded, const EntryStream& stream,
                           WindowWriter* writer) {
    const TimeRange kept{std::max(stream.oldest(), TimeUs{0}), kMaxTimeUs + 1};
    const uint32_t length =
        source->RunLength(bounded ? std::string_view(bound_) : std::string_view(), kept);
    if (length < kLeastRun) return 0u;
    const Result<const ShapeCells*> cells = source->Cells();
    if (!cells) return cells.error();
    columns_.clear();
    for (const ShapeCells::OfColumn& column : (*cells)->columns) {
      columns_.push_back(
          {column.pick->name, column.data, static_cast<uint32_t>(column.IndexOf(source->entry()))});
    }
    const ColumnBlock& block = source->block();
    const Result<uint32_t> added = writer->AddRun(
        block.RunOf(source->entry()), block.times().subspan(source->entry(), length), columns_);
    if (!added) return added.error();
    const Status skipped = source->Skip(*added);
    if (!skipped) return skipped.error();
    return *added;
  }

  const RewriteInput& input_;
  Lease* const lease_;
  std::vector<BlockFilePtr> from_;
  const TablePtr table_;
  const DeleteList deletes_;
  ColumnPlan plan_;
  std::vector<std::unique_ptr<BlockSource>> sources_;
  std::string bytes_;
  std::string bound_;
  std::vector<RunColumn> columns_;
  MergedFiles merged_;
};

}  // namespace

Result<SealedHead> SealOldestHead(const RewriteInput& input, Lease* lease, int64_t window_us) {
  return HeadSealer(input, lease, window_us).Seal();
}

Result<MergedFiles> MergeFiles(const RewriteInput& input, Lease* lease,
                               std::vector<BlockFilePtr> from) {
  TablePtr table;
  for (const TablePtr& candidate : input.state->catalogue.Tables()) {
    if (candidate->id == from.front()->info().table) table = candidate;
  }
  if (!table) return Error(ErrorCode::kNotFound, "the table was dropped meanwhile");
  return FileMerger(input, lease, std::move(from), std::move(table)).Merge();
}

}  // namespace tallyd
