#include "service/fill/fill_pass.h"

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kLeastBatchBytes = 16u << 10;
// A batch is committed after so long, however little there is in it: what was read grows old.
constexpr auto kLongestRead = std::chrono::milliseconds(250);
constexpr auto kLongestScan = std::chrono::seconds(1);
constexpr auto kPaceEvery = std::chrono::milliseconds(10);  // While nothing is committed.
// A slice with fewer events is followed by one that is twice as long.
constexpr uint64_t kFewEvents = 1000;
constexpr uint64_t kManyRows = 1000;

// What is left of the ranges behind that key.
void GoOnBehind(const std::string& key, std::vector<KeyRange>* ranges) {
  std::erase_if(*ranges,
                [&](const KeyRange& range) { return !range.end.empty() && range.end <= key; });
  if (!ranges->empty() && ranges->front().start <= key) ranges->front().start = key + '\0';
}

}  // namespace

FillPass::FillPass(Parts parts, FillWish wish, FillRecord record)
    : parts_(std::move(parts)),
      wish_(std::move(wish)),
      store_(*parts_.store),
      record_(std::move(record)),
      ahead_(record_),
      width_us_(parts_.slice_us),
      source_(store_, *parts_.clock, wish_, *wish_.source, wish_.source_stored),
      scan_(source_.input),
      mapper_(SourceOf(wish_, source_), *wish_.table, wish_.stored, source_.query.now, &store_),
      // What adds itself up is in nobody's way.
      watch_(store_.WatchRows(*wish_.stored, wish_.way == FillWay::kAdded ? 0 : wish_.before)),
      most_bytes_(parts_.batch_bytes) {}

FillPass::~FillPass() = default;

Status FillPass::Run() {
  if (wish_.way != FillWay::kPut && record_.line == 0) {
    if (Status begun = BeginAnew(); !begun) return begun;
  }
  if (wish_.way == FillWay::kAdded) source_.input.line = record_.line;
  while (true) {
    const Result<bool> has_slice = NextSlice();
    if (!has_slice) return has_slice.error();
    if (!*has_slice) return {};
    while (true) {
      const Result<bool> more = ReadSome();
      if (!more) return more.error();
      Status committed = Commit();
      if (!committed && committed.error().code() != ErrorCode::kOverloaded) return committed;
      if (committed && !*more) break;
    }
  }
}

// What is there of the time that is filled goes, all of which the source has. Behind that, and
// behind the line, whatever comes to the source comes to the table by itself; before it lies what
// is to be read.
Status FillPass::BeginAnew() {
  if (Status read = ReadSource(); !read) return read;
  const auto complete = [&](uint64_t line, Batch* to) {
    ahead_.line = line;
    to->PutMemo(FillKey(ahead_.table), EncodeFill(ahead_), NoteOrder::kAfter);
  };
  Status committed = parts_.writer->BeginAnew(TheDaemon(), wish_.stored,
                                              {wish_.from, wish_.before}, complete);
  if (committed) record_ = ahead_;
  return committed;
}

// What goes from the table may be nowhere else but in the source: whether it can be read from there
// is found out before. What comes while it is read needs no look: the reader would not catch up
// with whoever writes all the time.
Status FillPass::ReadSource() {
  if (wish_.way == FillWay::kAdded) {
    const Result<uint64_t> drawn = DrawLine();
    if (!drawn) return drawn.error();
    source_.input.line = *drawn;
  }
  const FillRecord begin = record_;
  // Rows of an event each are small over any time, and one walk over the keys is less than many.
  if (wish_.source->row_key.has_full_time()) record_.slice_end = record_.before;
  while (true) {
    const Result<bool> has_slice = NextSlice();
    if (!has_slice) return has_slice.error();
    if (!*has_slice) break;
    if (Status read = ReadSlice(begin); !read) return read;
    record_.through = record_.slice_end;
  }
  record_ = begin;
  ahead_ = begin;
  width_us_ = parts_.slice_us;
  source_.input.line = 0;
  return {};
}

Result<uint64_t> FillPass::DrawLine() {
  std::unique_ptr<Batch> batch = store_.NewBatch();
  batch->PutMemo(FillKey(record_.table), EncodeFill(record_), NoteOrder::kAfter);
  uint64_t line = 0;
  const auto complete = [&](uint64_t drawn, Batch*) { line = drawn; };
  if (Status drawn = store_.CommitBehindLine(std::move(batch), complete); !drawn) {
    return drawn.error();
  }
  return line;
}

// `told`: what whoever watches is told meanwhile.
Status FillPass::ReadSlice(const FillRecord& told) {
  ScanSpec spec;
  spec.cells = {record_.through, record_.slice_end};
  spec.ranges = source_.KeysOf(spec.cells);
  spec.line = source_.input.line;
  spec.now = source_.query.now;
  SteadyTime paced = std::chrono::steady_clock::now();
  while (!spec.ranges.empty()) {
    const SteadyTime opened = std::chrono::steady_clock::now();
    const std::unique_ptr<RowScan> scan = store_.Scan(wish_.source_stored, spec);
    std::string last;  // The row in which the time was up: it is read to its end.
    while (last.empty() || scan->row().key == last) {
      const Result<bool> more = scan->Next();
      if (!more) return more.error();
      if (!*more) return {};
      ++slice_events_;
      const SteadyTime now = std::chrono::steady_clock::now();
      if (last.empty() && now - opened >= kLongestScan) last = scan->row().key;
      if (now - paced < kPaceEvery) continue;
      if (Status go_on = parts_.after_commit(told); !go_on) return go_on;
      paced = std::chrono::steady_clock::now();
    }
    GoOnBehind(last, &spec.ranges);
  }
  return {};
}

// False: there is none. A slice that was begun is gone on with. A long one is looked at before:
// where there is much it becomes shorter, down to a window of the store, so that what is written
// goes into few files.
Result<bool> FillPass::NextSlice() {
  if (record_.slice_end > record_.through) return true;
  if (record_.through >= record_.before) return false;
  width_us_ = slice_events_ < kFewEvents ? std::min(width_us_ * 2, kMaxTimeUs) : parts_.slice_us;
  slice_events_ = 0;
  while (true) {
    const TimeUs begin = record_.through / parts_.slice_us * parts_.slice_us;
    record_.slice_end = std::min(begin + width_us_, record_.before);
    if (width_us_ <= parts_.slice_us) break;
    const Result<bool> many = HasManyRows({record_.through, record_.slice_end});
    if (!many) return many;
    if (!*many) break;
    width_us_ = std::max(width_us_ / 2 / parts_.slice_us * parts_.slice_us, parts_.slice_us);
  }
  record_.row.clear();
  ahead_ = record_;
  return true;
}

Result<bool> FillPass::HasManyRows(const TimeRange& time) const {
  ScanSpec spec;
  spec.ranges = source_.KeysOf(time);
  spec.cells = time;
  spec.keys_only = true;
  spec.line = source_.input.line;
  spec.now = source_.query.now;
  const std::unique_ptr<RowScan> scan = store_.Scan(wish_.source_stored, spec);
  for (uint64_t rows = 0; rows < kManyRows; ++rows) {
    const Result<bool> more = scan->Next();
    if (!more || !*more) return more;
  }
  return true;
}

void FillPass::OpenScan() {
  const TimeRange slice{record_.through, record_.slice_end};
  std::vector<KeyRange> keys = source_.KeysOf(slice);
  if (!record_.row.empty()) GoOnBehind(record_.row, &keys);
  removals_ = parts_.writer->gate().Removals(wish_.stream->name);
  watch_->Restart();
  scan_.Open(std::move(keys), slice, {});
  opened_ = std::chrono::steady_clock::now();
  is_open_ = true;
  has_part_ = false;
}

void FillPass::CloseScan() {
  scan_.Close();
  is_open_ = false;
}

// Reads whole rows into the batch until it is full. False: the slice is read to its end.
Result<bool> FillPass::ReadSome() {
  batch_ = store_.NewBatch();
  const SteadyTime start = std::chrono::steady_clock::now();
  const bool is_old = start - opened_ > kLongestScan ||
                      parts_.writer->gate().HasMore(wish_.stream->name, removals_) ||
                      watch_->WasAnyTouched();
  if (is_open_ && is_old) CloseScan();
  if (!is_open_) OpenScan();
  const TimeUs expires_by = std::min(source_.query.now, store_.RetentionNow());
  while (true) {
    if (!has_part_) {
      const Result<bool> more = scan_.Next();
      if (!more) return more.error();
      if (!*more) {
        ahead_.through = record_.slice_end;
        ahead_.row.clear();
        CloseScan();
        return false;
      }
    }
    has_part_ = true;
    const bool is_next_row = scan_.row_key() != ahead_.row;
    const bool is_full =
        bytes_ >= most_bytes_ || std::chrono::steady_clock::now() - start > kLongestRead;
    if (is_next_row && is_full && ahead_.row != record_.row) return true;
    if (is_next_row) ahead_.row = scan_.row_key();
    TakePart(expires_by);
    has_part_ = false;
  }
}

void FillPass::TakePart(TimeUs expires_by) {
  for (const EventFragment* event : scan_.fragments()) {
    const bool kept = mapper_.Map(*event, expires_by, batch_.get());
    ++(kept ? ahead_.events : ahead_.passed);
    ++slice_events_;
  }
  bytes_ += mapper_.TakeBytes();
}

// kOverloaded: it has to be read again.
Status FillPass::Commit() {
  if (batch_->empty() && ahead_.row.empty()) {
    record_ = ahead_;
    return {};
  }
  if (parts_.before_commit) {
    if (Status go_on = parts_.before_commit(); !go_on) return go_on;
  }
  batch_->PutMemo(FillKey(ahead_.table), EncodeFill(ahead_), NoteOrder::kAfter);
  const LateDays late = mapper_.TakeLateDays();
  const RowStems stems = mapper_.TakeStems();
  Status committed = parts_.writer->PutRead(
      TheDaemon(), {WriteKind::kFill, wish_.stream->name, removals_, watch_, &late, &stems},
      std::move(batch_));
  batch_.reset();
  bytes_ = 0;
  if (committed) {
    record_ = ahead_;
    most_bytes_ = std::min(most_bytes_ * 2, parts_.batch_bytes);
    return parts_.after_commit(record_);
  }
  ahead_ = record_;
  CloseScan();
  const bool is_current = store_.FindTable(wish_.table->name) == wish_.stored;
  if (committed.error().code() != ErrorCode::kConflict || !is_current) return committed;
  most_bytes_ = std::max(most_bytes_ / 2, std::min(kLeastBatchBytes, parts_.batch_bytes));
  if (parts_.on_conflict) parts_.on_conflict();
  if (Status go_on = parts_.after_commit(record_); !go_on) return go_on;
  return Error(ErrorCode::kOverloaded, "others wrote to the same rows meanwhile");
}

}  // namespace tallyd
