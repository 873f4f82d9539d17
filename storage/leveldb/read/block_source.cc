#include "storage/leveldb/read/block_source.h"

#include <algorithm>

#include "storage/blocks/key_runs.h"

namespace tallyd {
namespace {

// Streams that are so near to each other are read at once.
constexpr uint32_t kGapBytes = 4096;

// The plan may forget its names before the entry is done with.
void KeepNames(WholeEntry* entry) {
  entry->names.clear();
  for (const ColumnRef& column : entry->columns) {
    entry->names.push_back({column.family, std::string(column.qualifier)});
  }
  for (size_t i = 0; i < entry->names.size(); ++i) entry->columns[i] = entry->names[i].ref();
}

}  // namespace

BlockSource::BlockSource(BlockFilePtr file, ColumnPlan* plan, const TimeRange& wanted)
    : file_(std::move(file)), plan_(plan), wanted_(wanted) {}

Status BlockSource::LoadIndex() {
  if (index_) return {};
  Result<BlockIndexPtr> index = file_->Index();
  if (!index) return index.error();
  index_ = std::move(*index);
  return {};
}

Status BlockSource::Checked(const Status& status) const {
  return status ? status : Status(file_->Damaged(status.error()));
}

Status BlockSource::Open(size_t number) {
  if (open_ && number == number_) return {};
  open_ = false;
  const BlockPlace& place = index_->blocks()[number];
  Status read = file_->Read(place, 0, place.head_size, &bytes_);
  if (read) read = Checked(block_.Open(bytes_));
  if (!read) return read;
  if (block_.schema() != schema_) {
    schema_ = block_.schema();
    shapes_.clear();
    shapes_.resize(schema_->shapes.size());
    data_.resize(schema_->columns.size());
  }
  decoded_.assign(schema_->columns.size(), false);
  shape_ready_.assign(schema_->shapes.size(), false);
  number_ = number;
  open_ = true;
  return {};
}

Status BlockSource::OpenFrom(size_t number) {
  const auto& blocks = index_->blocks();
  while (number < blocks.size() && !IsWanted(blocks[number])) ++number;
  valid_ = false;
  if (number == blocks.size()) return {};
  const Status opened = Open(number);
  if (!opened) return opened;
  entry_ = 0;
  return Load();
}

Status BlockSource::Load() {
  block_.GetKey(entry_, &key_);
  row_key_ = key_;
  time_ = block_.times()[entry_];
  sequence_ = block_.sequences()[entry_];
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
    const auto times = block_.times();
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
  }
  std::unique_ptr<ShapeCells>& planned = shapes_[shape];
  if (planned) return planned.get();
  planned = std::make_unique<ShapeCells>();
  planned->ageless_from = std::numeric_limits<TimeUs>::min();
  std::vector<Column> columns;
  const TableInfo& table = plan_->table();
  for (const uint32_t number : schema_->shapes[shape]) {
    const Column& column = schema_->columns[number];
    const ColumnPlan::Pick& pick = plan_->Named(column.ref());
    const auto index = static_cast<uint32_t>(columns.size());
    columns.push_back(column);
    if (!pick.selected) continue;
    planned->columns.push_back({&pick, index, number, nullptr, {}});
    planned->blank.push_back({pick.name, index, Value()});
    planned->ageless_from = std::max(planned->ageless_from, pick.rule->oldest);
  }
  planned->set = plan_->sets().FindEqual(table.id, columns);
  return planned.get();
}

Status BlockSource::Decode(const ShapeCells& cells) {
  std::vector<uint32_t> missing;
  for (const ShapeCells::OfColumn& column : cells.columns) {
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
    const Status read = file_->Read(place(), begin.offset, end - begin.offset, &bytes_);
    if (!read) return read;
    for (; first < last; ++first) {
      const uint32_t number = missing[first];
      const ColumnBlock::Stream stream = block_.StreamOf(number);
      std::unique_ptr<ColumnData>& data = data_[number];
      if (!data) data = std::make_unique<ColumnData>();
      const Status decoded = block_.Decode(
          number, std::string_view(bytes_).substr(stream.offset - begin.offset, stream.size),
          data.get());
      if (!decoded) return Checked(decoded);
      decoded_[number] = true;
    }
  }
  return {};
}

Result<const ShapeCells*> BlockSource::Cells() {
  const uint32_t shape = block_.shape_of(entry_);
  ShapeCells* cells = PlanShape(shape);
  if (shape_ready_[shape]) return cells;
  const Status decoded = Decode(*cells);
  if (!decoded) return decoded.error();
  for (ShapeCells::OfColumn& column : cells->columns) {
    column.data = data_[column.number].get();
    column.indexes = {};
    if (!block_.has_one_shape()) column.indexes = block_.IndexesOf(column.number);
  }
  shape_ready_[shape] = true;
  return cells;
}

Status BlockSource::AddTo(RowAssembler* row) {
  const Result<const ShapeCells*> cells = Cells();
  if (!cells) return cells.error();
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
  for (const ShapeCells::OfColumn& column : cells.columns) {
    const Value value = column.data->At(column.IndexOf(entry_));
    if (value.type() >= ValueType::kString) {
      any_text = true;
      entry->bytes.insert(entry->bytes.end(), value.AsView().begin(), value.AsView().end());
    }
    if (cells.set == nullptr) entry->columns.push_back(column.pick->name);
    entry->values.push_back(value);
  }
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

uint32_t BlockSource::RunLength(std::string_view end, const TimeRange& times) const {
  if (block_.has_rewrites()) return 0;
  const KeyRun& run = block_.RunOf(entry_);
  const uint32_t shape = block_.shape_of(entry_);
  const auto all = block_.times();
  uint32_t stop = entry_;
  while (stop < run.end && times.Contains(all[stop]) && block_.shape_of(stop) == shape) ++stop;
  return LengthBefore(end, stop);
}

uint32_t BlockSource::LengthOutside(std::string_view end, const TimeRange& times) const {
  const auto all = block_.times();
  uint32_t stop = entry_;
  while (stop < all.size() && !times.Contains(all[stop])) ++stop;
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
