#include "storage/leveldb/read/block_source.h"

#include <algorithm>
#include <numeric>

#include "storage/blocks/key_runs.h"

namespace tallyd {
namespace {

// Streams that are so near to each other are read at once.
constexpr uint32_t kGapBytes = 4096;
// Streams that are so near to the head are read with it, once the block before wanted such.
constexpr uint32_t kMostReadAhead = 16u << 10;
constexpr uint64_t kMostLooksPerCell = 16;

// The first of [begin, end) whose time is not before `from`; times ascend there.
uint32_t FirstFrom(std::span<const TimeUs> times, uint32_t begin, uint32_t end, TimeUs from) {
  const auto found = std::lower_bound(times.begin() + begin, times.begin() + end, from);
  return static_cast<uint32_t>(found - times.begin());
}

// The plan may forget its names before the entry is done with.
void KeepNames(WholeEntry* entry) {
  entry->names.clear();
  for (const ColumnRef& column : entry->columns) {
    entry->names.push_back({column.family, std::string(column.qualifier)});
  }
  for (size_t i = 0; i < entry->names.size(); ++i) entry->columns[i] = entry->names[i].ref();
}

}  // namespace

BlockSource::BlockSource(BlockFilePtr file, ColumnPlan* plan, const TimeRange& wanted,
                         BlockReads reads)
    : file_(std::move(file)), plan_(plan), wanted_(wanted), reads_(reads) {}

Status BlockSource::LoadIndex() {
  if (index_) return {};
  Result<BlockIndexPtr> index = file_->Index();
  if (!index) return index.error();
  index_ = std::move(*index);
  return {};
}

Status BlockSource::Checked(const Status& status, const BlockPlace& block, uint32_t part) const {
  if (status) return status;
  file_->ForgetPart(block, part);
  return file_->Damaged(status.error());
}

Status BlockSource::Open(size_t number) {
  if (open_ && number == number_) return {};
  open_ = false;
  const BlockPlace& place = index_->blocks()[number];
  Result<BytesPtr> read = file_->ReadPart(place, 0, place.head_size, read_ahead_, reads_);
  if (!read) return read.error();
  head_ = std::move(*read);
  const std::string_view head = std::string_view(*head_).substr(0, place.head_size);
  if (const Status opened = Checked(block_.Open(head), place, 0); !opened) return opened;
  if (block_.schema() != schema_) {
    schema_ = block_.schema();
    shapes_.clear();
    shapes_.resize(schema_->shapes.size() + 1);
    data_.resize(schema_->columns.size());
  }
  decoded_.assign(schema_->columns.size(), false);
  shape_ready_.assign(shapes_.size(), false);
  if (!plan_->telling().empty()) telling_ready_.assign(shapes_.size(), false);
  runs_have_any_shape_.reset();
  entries_have_cells_ = false;
  number_ = number;
  open_ = true;
  return {};
}

// A scan of much time has hundreds of sources, one for each file, and most are behind what it wants
// or at their ends.
void BlockSource::Release() {
  for (std::unique_ptr<ColumnData>& data : data_) data.reset();
  std::fill(decoded_.begin(), decoded_.end(), false);
  std::fill(shape_ready_.begin(), shape_ready_.end(), false);
  std::fill(telling_ready_.begin(), telling_ready_.end(), false);
}

Status BlockSource::OpenFrom(size_t number) {
  const auto& blocks = index_->blocks();
  while (number < blocks.size() && !IsWanted(blocks[number])) ++number;
  valid_ = false;
  if (number == blocks.size()) {
    Release();
    return {};
  }
  const Status opened = Open(number);
  if (!opened) return opened;
  entry_ = 0;
  return Load();
}

Status BlockSource::Load() {
  block_.GetKey(entry_, &key_);
  row_key_ = key_;
  time_ = block_.times().At(entry_);
  sequence_ = block_.sequence_of(entry_);
  valid_ = true;
  return {};
}

Status BlockSource::SeekRow(std::string_view key) {
  valid_ = false;
  if (const Status loaded = LoadIndex(); !loaded) return loaded;
  const auto& blocks = index_->blocks();
  size_t number = index_->FindBlock(key);
  while (number < blocks.size() && !IsWanted(blocks[number])) ++number;
  if (number == blocks.size()) return {};
  const Status opened = Open(number);
  if (!opened) return opened;
  entry_ = key <= place().first_key ? 0 : block_.LowerBound(key);
  if (entry_ == block_.entries()) return OpenFrom(number + 1);
  return Load();
}

Status BlockSource::SeekRowBefore(std::string_view key) {
  valid_ = false;
  if (const Status loaded = LoadIndex(); !loaded) return loaded;
  const auto& blocks = index_->blocks();
  size_t number = key.empty() ? blocks.size() : index_->FindBlock(key);
  if (number == blocks.size()) --number;
  // The last wanted block that begins before the key.
  while (!IsWanted(blocks[number]) || (!key.empty() && blocks[number].first_key >= key)) {
    if (number == 0) return {};
    --number;
  }
  Status opened = Open(number);
  if (!opened) return opened;
  const uint32_t end = key.empty() ? block_.entries() : block_.LowerBound(key);
  if (end == 0) return {};
  entry_ = block_.RowBegin(end - 1);
  const Status loaded = Load();
  if (!loaded) return loaded;
  // The row may begin in blocks before; those that are not wanted have nothing of it to give.
  const std::string row = key_;
  while (entry_ == 0 && number > 0 && blocks[number - 1].last_key == row) {
    --number;
    if (!IsWanted(blocks[number])) continue;
    opened = Open(number);
    if (!opened) return opened;
    entry_ = block_.RowBegin(block_.entries() - 1);
  }
  return Load();
}

Status BlockSource::Next() {
  if (++entry_ == block_.entries()) return OpenFrom(number_ + 1);
  block_.times().All();  // Whoever goes on entry by entry asks for each.
  return Load();
}

Status BlockSource::SkipBlock() { return OpenFrom(number_ + 1); }

Status BlockSource::Skip(uint32_t count) {
  entry_ += count;
  if (entry_ == block_.entries()) return OpenFrom(number_ + 1);
  return Load();
}

Status BlockSource::SkipNewer(TimeUs below) {
  const std::string row = key_;
  while (valid_ && time_ >= below && row_key_ == row) {
    const uint32_t end = block_.RowEnd(entry_);
    const auto times = block_.times().All();
    // Of one row the newest come first.
    const auto older = std::partition_point(times.begin() + entry_, times.begin() + end,
                                            [&](TimeUs time) { return time >= below; });
    const Status skipped = Skip(static_cast<uint32_t>(older - times.begin()) - entry_);
    if (!skipped) return skipped;
  }
  return {};
}

ShapeCells* BlockSource::PlanShape(uint32_t shape) {
  if (generation_ != plan_->generation()) {
    generation_ = plan_->generation();
    for (auto& planned : shapes_) planned.reset();
    std::fill(shape_ready_.begin(), shape_ready_.end(), false);
    std::fill(telling_ready_.begin(), telling_ready_.end(), false);
  }
  std::unique_ptr<ShapeCells>& planned = shapes_[shape];
  if (planned) return planned.get();
  planned = std::make_unique<ShapeCells>();
  planned->ageless_from = std::numeric_limits<TimeUs>::min();
  std::vector<Column> columns;
  for (const uint32_t number : ColumnsOf(shape)) {
    const Column& column = schema_->columns[number];
    const ColumnPlan::Pick& pick = plan_->Named(column.ref());
    const auto index = static_cast<uint32_t>(columns.size());
    columns.push_back(column);
    if (pick.tells >= 0) planned->telling.push_back({&pick, index, number, {pick.name}});
    if (!pick.selected) continue;
    planned->columns.push_back({&pick, index, number, {pick.name}});
    planned->blank.push_back({pick.name, index, Value()});
    planned->ageless_from = std::max(planned->ageless_from, pick.rule->oldest);
  }
  planned->set = plan_->sets().FindEqual(plan_->table().id, columns);
  return planned.get();
}

// In read order.
std::vector<uint32_t> BlockSource::ColumnsOf(uint32_t shape) const {
  if (shape < schema_->shapes.size() && !schema_->by_presence) return schema_->shapes[shape];
  std::vector<uint32_t> all(schema_->columns.size());
  std::iota(all.begin(), all.end(), uint32_t{0});
  const std::vector<uint16_t>& ranks = plan_->table().family_rank;
  // A family of a later configuration has no rank yet.
  const auto rank = [&](const Column& column) {
    return column.family < ranks.size() ? size_t{ranks[column.family]} : ranks.size();
  };
  std::ranges::sort(all, [&](uint32_t a, uint32_t b) {
    const Column& left = schema_->columns[a];
    const Column& right = schema_->columns[b];
    return rank(left) != rank(right) ? rank(left) < rank(right) : ComesBefore(left, right);
  });
  return all;
}

Status BlockSource::Decode(std::span<const ShapeCells::OfColumn> columns) {
  std::vector<uint32_t> missing;
  for (const ShapeCells::OfColumn& column : columns) {
    if (!decoded_[column.number]) missing.push_back(column.number);
  }
  std::sort(missing.begin(), missing.end());
  for (size_t first = 0; first < missing.size();) {
    const ColumnBlock::Stream begin = block_.StreamOf(missing[first]);
    uint32_t end = begin.offset + begin.size;
    size_t last = first + 1;
    for (; last < missing.size(); ++last) {
      const ColumnBlock::Stream next = block_.StreamOf(missing[last]);
      if (next.offset > end + kGapBytes) break;
      end = next.offset + next.size;
    }
    const Result<std::string_view> bytes = ReadStreams(begin.offset, end);
    if (!bytes) return bytes.error();
    for (; first < last; ++first) {
      const uint32_t number = missing[first];
      const ColumnBlock::Stream stream = block_.StreamOf(number);
      std::unique_ptr<ColumnData>& data = data_[number];
      if (!data) data = std::make_unique<ColumnData>();
      const Status decoded = block_.Decode(
          number, bytes->substr(stream.offset - begin.offset, stream.size), data.get());
      if (!decoded) return Checked(decoded, place(), end <= head_->size() ? 0 : begin.offset);
      decoded_[number] = true;
    }
  }
  bytes_.reset();  // As much again as the values; a merge has many sources.
  return {};
}

// Those of the next block mostly end about where these do.
Result<std::string_view> BlockSource::ReadStreams(uint32_t begin, uint32_t end) {
  if (end <= head_->size()) return std::string_view(*head_).substr(begin, end - begin);
  const uint32_t behind = end - place().head_size;
  if (behind <= kMostReadAhead) read_ahead_ = std::max(read_ahead_, behind + behind / 8);
  Result<BytesPtr> read = file_->ReadPart(place(), begin, end - begin, 0, reads_);
  if (!read) return read.error();
  bytes_ = std::move(*read);
  return std::string_view(*bytes_).substr(0, end - begin);
}

Result<const ShapeCells*> BlockSource::CellsOf(uint32_t shape) {
  ShapeCells* cells = PlanShape(shape);
  if (shape_ready_[shape]) return cells;
  const Status decoded = Decode(cells->columns);
  if (!decoded) return decoded.error();
  cells->some_absent = false;
  const bool may_be_absent = schema_->by_presence || shape == schema_->shapes.size();
  for (ShapeCells::OfColumn& column : cells->columns) {
    column.cells.data = data_[column.number].get();
    column.cells.presence = block_.PresenceOf(column.number);
    if (may_be_absent && column.cells.presence != nullptr) cells->some_absent = true;
  }
  cells->cells.clear();
  for (const ShapeCells::OfColumn& column : cells->columns) cells->cells.push_back(column.cells);
  shape_ready_[shape] = true;
  return cells;
}

// Nothing is noted as ready: rows of the same block may follow.
Result<const ShapeCells*> BlockSource::RunColumns() {
  const uint32_t shape = RunShape();
  if (schema_->by_presence) return CellsOf(shape);
  ShapeCells* cells = PlanShape(shape);
  for (ShapeCells::OfColumn& column : cells->columns) {
    column.cells.presence = block_.PresenceOf(column.number);
  }
  return cells;
}

Status BlockSource::CheckEntriesHaveCells() {
  if (entries_have_cells_) return {};
  const Status checked = Checked(block_.CheckEntriesHaveCells(), place(), 0);
  entries_have_cells_ = checked.has_value();
  return checked;
}

// Those who read runs do not ask for them.
Status BlockSource::TakeTelling(uint32_t shape) {
  if (telling_ready_[shape]) return {};
  std::vector<ShapeCells::OfColumn>& telling = shapes_[shape]->telling;
  const Status decoded = Decode(telling);
  if (!decoded) return decoded;
  for (ShapeCells::OfColumn& column : telling) {
    column.cells.data = data_[column.number].get();
    column.cells.presence = block_.PresenceOf(column.number);
  }
  telling_ready_[shape] = true;
  return {};
}

Status BlockSource::AddTo(RowAssembler* row) {
  const Result<const ShapeCells*> cells = Cells();
  if (!cells) return cells.error();
  if (!plan_->telling().empty()) {
    const Status taken = TakeTelling(block_.shape_of(entry_));
    if (!taken) return taken;
  }
  if (row->Add(time_, sequence_, **cells, entry_)) return {};
  return file_->Damaged(Error(ErrorCode::kCorruption, "an aggregate's state is malformed"));
}

// Text goes to entry->bytes first and is cut out when that has its final place.
Status BlockSource::Read(WholeEntry* entry) {
  const Result<const ShapeCells*> read = Cells();
  if (!read) return read.error();
  const ShapeCells& cells = **read;
  entry->row_key.assign(row_key_);
  entry->time = time_;
  entry->sequence = sequence_;
  entry->set = cells.set;
  entry->columns.clear();
  entry->values.clear();
  entry->bytes.clear();
  bool any_text = false;
  bool any = false;
  for (const ShapeCells::OfColumn& column : cells.columns) {
    if (!column.cells.Has(entry_)) {
      if (cells.set != nullptr) entry->values.emplace_back();
      continue;
    }
    any = true;
    const Value value = column.cells.data->At(column.cells.PlaceOf(entry_));
    if (value.type() >= ValueType::kString) {
      any_text = true;
      entry->bytes.insert(entry->bytes.end(), value.AsView().begin(), value.AsView().end());
    }
    if (cells.set == nullptr) entry->columns.push_back(column.pick->name);
    entry->values.push_back(value);
  }
  if (!any) return file_->Damaged(Error(ErrorCode::kCorruption, "an entry has no cell"));
  if (cells.set == nullptr) KeepNames(entry);
  if (!any_text) return {};
  size_t at = 0;
  for (Value& value : entry->values) {
    if (value.type() < ValueType::kString) continue;
    const std::string_view text(entry->bytes.data() + at, value.AsView().size());
    value = value.type() == ValueType::kString ? Value::String(text) : Value::Bytes(text);
    at += text.size();
  }
  return {};
}

// Whoever reads a run looks at each of its columns for each entry: where few of the entries have
// them, those of one shape are read alone.
bool BlockSource::RunsHaveAnyShape() {
  if (block_.has_one_shape()) return true;
  if (!runs_have_any_shape_) {
    const auto all = static_cast<uint32_t>(schema_->shapes.size());
    const uint64_t looks = PlanShape(all)->columns.size() * uint64_t{block_.entries()};
    runs_have_any_shape_ = looks <= block_.cells() * kMostLooksPerCell;
  }
  return *runs_have_any_shape_;
}

uint32_t BlockSource::RunShape() {
  if (block_.has_one_shape()) return 0;
  return RunsHaveAnyShape() ? static_cast<uint32_t>(schema_->shapes.size())
                            : block_.shape_of(entry_);
}

uint32_t BlockSource::RunLength(std::string_view end, const TimeRange& times) {
  if (RunsHaveAnyShape()) return LengthOf(end, times, std::nullopt);
  return LengthOf(end, times, block_.shape_of(entry_));
}

uint32_t BlockSource::MixedLength(std::string_view end, const TimeRange& times) {
  return LengthOf(end, times, std::nullopt);
}

// `shape`: of entries of that shape only.
uint32_t BlockSource::LengthOf(std::string_view end, const TimeRange& times,
                               std::optional<uint32_t> shape) {
  if (block_.has_rewrites() || block_.is_part()) return 0;
  const KeyRun& run = block_.RunOf(entry_);
  if (!shape && times.from <= place().min_time && place().max_time < times.to) {
    return LengthBefore(end, run.end);
  }
  const auto all = block_.times().All();
  uint32_t stop = entry_;
  if (!shape && block_.times().runs_ascend()) {
    if (times.Contains(all[stop])) stop = FirstFrom(all, stop, run.end, times.to);
    return LengthBefore(end, stop);
  }
  while (stop < run.end && times.Contains(all[stop]) &&
         (!shape || block_.shape_of(stop) == *shape)) {
    ++stop;
  }
  return LengthBefore(end, stop);
}

uint32_t BlockSource::LengthOutside(std::string_view end, const TimeRange& times) const {
  if (times.Contains(time_)) return 0;
  const auto all = block_.times().All();
  uint32_t stop = entry_;
  while (stop < all.size() && !times.Contains(all[stop])) {
    if (!block_.times().runs_ascend()) {
      ++stop;
      continue;
    }
    const uint32_t run_end = block_.RunOf(stop).end;
    stop = all[stop] < times.from ? FirstFrom(all, stop, run_end, times.from) : run_end;
  }
  return LengthBefore(end, stop);
}

// Of the entries up to `stop`, how many are of rows before `end`.
uint32_t BlockSource::LengthBefore(std::string_view end, uint32_t stop) const {
  if (end.empty() || stop == entry_) return stop - entry_;
  std::string key;
  block_.GetKey(stop - 1, &key);
  if (key < end) return stop - entry_;
  return std::min(stop, std::max(entry_, block_.LowerBound(end))) - entry_;
}

}  // namespace tallyd
