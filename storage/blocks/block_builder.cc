#include "storage/blocks/block_builder.h"

#include <xxhash.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <vector>

#include "storage/blocks/column_block.h"
#include "storage/blocks/column_codec.h"
#include "storage/blocks/int_codec.h"
#include "storage/blocks/key_runs.h"

namespace tallyd {
namespace {

// A full block: what makes reading one cell of it costly, or itself hard to hold.
constexpr size_t kFullEntries = 2048;
constexpr size_t kFullCells = 512u << 10;
constexpr size_t kFullTextBytes = 1u << 20;
constexpr size_t kFullShapes = 256;
constexpr size_t kFullColumns = 4096;
// Blocks of changing columns must not keep the buffers of all that ever occurred.
constexpr size_t kKeptColumns = 1024;

}  // namespace

struct BlockBuilder::Impl {
  struct OfColumn {
    Column name;
    ColumnBuffer values;
  };
  // A list of columns that came under one identity.
  struct Known {
    std::vector<uint32_t> columns;
    uint32_t shape = 0;
  };

  void Clear();
  Known* Find(std::span<const ColumnRef> names, const void* identity);
  uint32_t ColumnOf(const ColumnRef& name);
  uint32_t ShapeOf(const std::vector<uint32_t>& columns);
  void Add(const EntryId& entry, Known* list, std::span<const Value> values);
  std::string EncodeSchema() const;
  int64_t TimeUnit() const;
  void EncodeSequences();
  void Encode();

  std::vector<OfColumn> columns;  // The first column_count are in use.
  uint32_t column_count = 0;
  std::map<std::pair<FamilyId, std::string>, uint32_t> column_numbers;
  std::vector<std::vector<uint32_t>> shapes;
  std::map<std::vector<uint32_t>, uint32_t> shape_numbers;
  boost::unordered_flat_map<const void*, Known> known;
  const void* last_identity = nullptr;
  Known* last_known = nullptr;
  Known unnamed;
  std::vector<uint32_t> present;

  KeyRunBuilder keys;
  std::vector<int64_t> times;
  std::vector<int64_t> entry_shapes;
  std::vector<uint64_t> sequences;
  std::string first_key;
  std::string last_key;
  uint32_t rows = 0;
  size_t cells = 0;
  size_t text_bytes = 0;

  std::string head;
  std::string sections;
  std::string streams;
  std::string bytes;
};

BlockBuilder::BlockBuilder() : impl_(std::make_unique<Impl>()) {}
BlockBuilder::~BlockBuilder() = default;

bool BlockBuilder::empty() const { return impl_->times.empty(); }

bool BlockBuilder::IsFull() const {
  const Impl& impl = *impl_;
  return impl.times.size() >= kFullEntries || impl.cells >= kFullCells ||
         impl.text_bytes + impl.keys.bytes() >= kFullTextBytes ||
         impl.shapes.size() >= kFullShapes || impl.column_count >= kFullColumns;
}

bool BlockBuilder::ContinuesLast(std::string_view row_key, TimeUs time) const {
  return !impl_->times.empty() && impl_->times.back() == time && impl_->last_key == row_key &&
         impl_->times.size() < kMaxBlockEntries;
}

void BlockBuilder::Add(const EntryId& entry, std::span<const ColumnRef> columns,
                       std::span<const Value> values, const void* identity) {
  impl_->Add(entry, impl_->Find(columns, identity), values);
}

void BlockBuilder::Add(const EntryId& entry, const ColumnSet& set, std::span<const Value> values) {
  if (impl_->last_identity != &set && !impl_->known.contains(&set)) {
    std::vector<ColumnRef> names;
    for (const Column& column : set.columns) names.push_back(column.ref());
    impl_->Find(names, &set);
  }
  impl_->Add(entry, impl_->Find({}, &set), values);
}

BlockBuilder::Impl::Known* BlockBuilder::Impl::Find(std::span<const ColumnRef> names,
                                                    const void* identity) {
  if (identity != nullptr && identity == last_identity) return last_known;
  if (identity != nullptr) {
    const auto found = known.find(identity);
    if (found != known.end()) {
      last_identity = identity;
      last_known = &found->second;
      return last_known;
    }
  }
  Known fresh;
  for (const ColumnRef& name : names) fresh.columns.push_back(ColumnOf(name));
  fresh.shape = kNoShape;
  if (identity == nullptr) {
    unnamed = std::move(fresh);
    return &unnamed;
  }
  last_identity = nullptr;  // The map may move what last_known points to.
  return &known.emplace(identity, std::move(fresh)).first->second;
}

uint32_t BlockBuilder::Impl::ColumnOf(const ColumnRef& name) {
  const auto [place, is_new] =
      column_numbers.try_emplace({name.family, std::string(name.qualifier)}, column_count);
  if (!is_new) return place->second;
  if (column_count == columns.size()) columns.emplace_back();
  columns[column_count].name = {name.family, std::string(name.qualifier)};
  return column_count++;
}

uint32_t BlockBuilder::Impl::ShapeOf(const std::vector<uint32_t>& of) {
  const auto [place, is_new] = shape_numbers.try_emplace(of, static_cast<uint32_t>(shapes.size()));
  if (is_new) shapes.push_back(of);
  return place->second;
}

void BlockBuilder::Impl::Add(const EntryId& entry, Known* list, std::span<const Value> values) {
  size_t absent = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (value.is_null()) {
      ++absent;
      continue;
    }
    if (value.type() >= ValueType::kString) text_bytes += value.AsView().size();
    columns[list->columns[i]].values.Add(value);
  }
  uint32_t shape = list->shape;
  if (absent > 0) {
    present.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].is_null()) present.push_back(list->columns[i]);
    }
    shape = ShapeOf(present);
  } else if (shape == kNoShape) {
    shape = ShapeOf(list->columns);
    list->shape = shape;
  }
  if (times.empty()) first_key.assign(entry.row_key);
  if (times.empty() || last_key != entry.row_key) ++rows;
  last_key.assign(entry.row_key);
  keys.Add(entry.row_key, entry.time);
  times.push_back(entry.time);
  sequences.push_back(entry.sequence);
  entry_shapes.push_back(shape);
  cells += values.size() - absent;
}

size_t BlockBuilder::room() const { return IsFull() ? 0 : kFullEntries - impl_->times.size(); }

void BlockBuilder::AddRun(const KeyRun& run, const RunEntries& entries,
                          std::span<const RunColumn> columns) {
  Impl& impl = *impl_;
  const std::span<const TimeUs> run_times = entries.times;
  std::vector<uint32_t>& shape = impl.present;
  shape.clear();
  for (const RunColumn& column : columns) {
    shape.push_back(impl.ColumnOf(column.column));
    ColumnBuffer& values = impl.columns[shape.back()].values;
    const size_t before = values.text_bytes();
    values.AddRange(*column.data, column.begin, run_times.size());
    impl.text_bytes += values.text_bytes() - before;
  }
  std::string first;
  RenderKey(run, run_times.front(), &first);
  if (impl.times.empty()) impl.first_key = first;
  if (impl.times.empty() || impl.last_key != first) ++impl.rows;
  for (size_t i = 1; i < run_times.size(); ++i) {
    if (!SameKeyTime(run.time, run_times[i - 1], run_times[i])) ++impl.rows;
  }
  RenderKey(run, run_times.back(), &impl.last_key);
  impl.keys.AddRun(run, static_cast<uint32_t>(run_times.size()));
  impl.times.insert(impl.times.end(), run_times.begin(), run_times.end());
  impl.sequences.insert(impl.sequences.end(), entries.sequences.begin(), entries.sequences.end());
  impl.entry_shapes.insert(impl.entry_shapes.end(), run_times.size(), impl.ShapeOf(shape));
  impl.cells += run_times.size() * columns.size();
}

std::string BlockBuilder::Impl::EncodeSchema() const {
  std::string text;
  for (uint32_t i = 0; i < column_count; ++i) {
    PutVarint(&text, columns[i].name.family);
    PutString(&text, columns[i].name.qualifier);
  }
  for (const std::vector<uint32_t>& shape : shapes) {
    PutVarint(&text, shape.size());
    uint32_t before = 0;
    for (const uint32_t column : shape) {
      PutVarint(&text, ZigZag(static_cast<int64_t>(column) - before));
      before = column + 1;
    }
  }
  std::string schema;
  AppendText(text, &schema);
  return schema;
}

// The largest unit that divides all times.
int64_t BlockBuilder::Impl::TimeUnit() const {
  int64_t unit = kTimeUnits[0];
  for (const int64_t candidate : kTimeUnits) {
    if (std::all_of(times.begin(), times.end(),
                    [&](int64_t time) { return time % candidate == 0; })) {
      unit = candidate;
    }
  }
  return unit;
}

// Few differ in a block, each that of a sealed head: entries have their places in a list of them.
void BlockBuilder::Impl::EncodeSequences() {
  std::vector<uint64_t> distinct(sequences);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  PutVarint(&sections, distinct.size());
  uint64_t before = 0;
  for (const uint64_t sequence : distinct) {
    PutVarint(&sections, sequence - before);
    before = sequence;
  }
  if (distinct.size() == 1) return;
  std::vector<int64_t> places;
  places.reserve(sequences.size());
  for (const uint64_t sequence : sequences) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), sequence);
    places.push_back(place - distinct.begin());
  }
  AppendInts(places, &sections);
}

// Head: version, counts, sizes of the sections and of the columns' streams, sections, checksum.
void BlockBuilder::Impl::Encode() {
  streams.clear();
  std::string sizes;
  for (uint32_t i = 0; i < column_count; ++i) {
    const size_t begin = streams.size();
    streams.append(kChecksumBytes, '\0');
    columns[i].values.Encode(&streams);
    const std::string_view data = std::string_view(streams).substr(begin + kChecksumBytes);
    EncodeU32(streams.data() + begin, BlockChecksum(data));
    PutVarint(&sizes, streams.size() - begin);
  }
  head.assign(1, static_cast<char>(kBlockVersion));
  PutVarint(&head, times.size());
  PutVarint(&head, column_count);
  PutVarint(&head, shapes.size());
  sections.clear();
  size_t begin = 0;
  const auto end_section = [&] {
    PutVarint(&head, sections.size() - begin);
    begin = sections.size();
  };
  sections.append(EncodeSchema());
  end_section();
  keys.Encode(&sections);
  end_section();
  const int64_t unit = TimeUnit();
  for (int64_t& time : times) time /= unit;
  PutVarint(&sections, static_cast<uint64_t>(unit));
  AppendInts(times, &sections);
  for (int64_t& time : times) time *= unit;
  end_section();
  if (shapes.size() > 1) AppendInts(entry_shapes, &sections);
  end_section();
  EncodeSequences();
  end_section();
  head.append(sizes).append(sections);
  PutU32(&head, BlockChecksum(head));
  bytes.assign(head).append(streams);
}

void BlockBuilder::Impl::Clear() {
  for (uint32_t i = 0; i < column_count; ++i) columns[i].values.Clear();
  if (columns.size() > kKeptColumns) columns.resize(kKeptColumns);
  column_count = 0;
  column_numbers.clear();
  shapes.clear();
  shape_numbers.clear();
  known.clear();
  last_identity = nullptr;
  keys.Clear();
  times.clear();
  entry_shapes.clear();
  sequences.clear();
  rows = 0;
  cells = 0;
  text_bytes = 0;
}

BuiltBlock BlockBuilder::Finish() {
  impl_->Encode();
  BuiltBlock built;
  built.bytes = impl_->bytes;
  built.head_size = static_cast<uint32_t>(impl_->head.size());
  built.entries = static_cast<uint32_t>(impl_->times.size());
  built.rows = impl_->rows;
  built.runs = static_cast<uint32_t>(impl_->keys.runs());
  built.columns = impl_->column_count;
  built.cells = impl_->cells;
  built.first_key = impl_->first_key;
  built.last_key = impl_->last_key;
  const auto [least, greatest] = std::minmax_element(impl_->times.begin(), impl_->times.end());
  built.min_time = *least;
  built.max_time = *greatest;
  const auto [first, last] = std::minmax_element(impl_->sequences.begin(), impl_->sequences.end());
  built.min_sequence = *first;
  built.max_sequence = *last;
  impl_->Clear();
  return built;
}

}  // namespace tallyd
