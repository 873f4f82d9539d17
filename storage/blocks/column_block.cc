#include "storage/blocks/column_block.h"

#include <xxhash.h>

#include <algorithm>

#include "storage/batch.h"
#include "storage/blocks/column_codec.h"
#include "storage/blocks/int_codec.h"
#include "storage/blocks/key_runs.h"

namespace tallyd {
namespace {

Error Malformed() { return Error(ErrorCode::kCorruption, "a column block is malformed"); }

// A shape's columns must differ: an entry has one value of each.
bool ReadShape(ByteReader* in, size_t columns, std::vector<uint32_t>* seen_in, uint32_t number,
               std::vector<uint32_t>* shape) {
  uint64_t count = 0;
  if (!in->GetVarint(&count) || count == 0 || count > columns) return false;
  int64_t next = 0;
  for (; count > 0; --count) {
    uint64_t step = 0;
    if (!in->GetNumber(&step, uint64_t{2} * kMaxBlockColumns)) return false;
    const int64_t column = next + UnZigZag(step);
    if (column < 0 || static_cast<uint64_t>(column) >= columns) return false;
    uint32_t& seen = (*seen_in)[static_cast<size_t>(column)];
    if (seen == number + 1) return false;
    seen = number + 1;
    shape->push_back(static_cast<uint32_t>(column));
    next = column + 1;
  }
  return true;
}

std::shared_ptr<const BlockSchema> ReadSchema(std::string_view bytes, uint32_t columns,
                                              uint32_t shapes) {
  std::string text;
  ByteReader packed(bytes);
  if (!ReadText(&packed, &text) || !packed.done()) return nullptr;
  auto schema = std::make_shared<BlockSchema>();
  ByteReader in(text);
  for (uint32_t i = 0; i < columns; ++i) {
    Column column;
    std::string_view qualifier;
    if (!in.GetNumber(&column.family, std::numeric_limits<FamilyId>::max()) ||
        !in.GetString(&qualifier) || qualifier.size() > kMaxQualifierBytes) {
      return nullptr;
    }
    column.qualifier = qualifier;
    schema->columns.push_back(std::move(column));
  }
  std::vector<uint32_t> seen_in(columns, 0);
  for (uint32_t i = 0; i < shapes; ++i) {
    std::vector<uint32_t> shape;
    if (!ReadShape(&in, columns, &seen_in, i, &shape)) return nullptr;
    schema->shapes.push_back(std::move(shape));
  }
  return in.done() ? schema : nullptr;
}

}  // namespace

uint32_t BlockChecksum(std::string_view bytes) {
  return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

struct ColumnBlock::Impl {
  bool Open(std::string_view head);
  // Of neighbours in different runs: a row's entries can be in several.
  static bool HaveOneKey(const ColumnBlock& block, uint32_t a, uint32_t b) {
    std::string key_a;
    std::string key_b;
    block.GetKey(a, &key_a);
    block.GetKey(b, &key_b);
    return key_a == key_b;
  }
  bool ReadTimes(std::string_view section);
  bool ReadShapes(std::string_view section);
  bool ReadSequences(std::string_view section);
  bool FindRewrites() const;
  void CountValues();

  uint32_t entries = 0;
  std::string schema_bytes;
  std::shared_ptr<const BlockSchema> schema;
  std::vector<KeyRun> runs;
  std::string stems;
  std::vector<TimeUs> times;
  std::vector<int64_t> shape_of;  // Empty with one shape.
  std::vector<uint64_t> sequences;
  bool has_rewrites = false;
  std::vector<Stream> streams;
  std::vector<uint32_t> values_of;                     // By column: how many entries have it.
  mutable std::vector<std::vector<uint32_t>> indexes;  // By column, where asked for.
};

ColumnBlock::ColumnBlock() : impl_(std::make_unique<Impl>()) {}
ColumnBlock::~ColumnBlock() = default;
ColumnBlock::ColumnBlock(ColumnBlock&&) noexcept = default;
ColumnBlock& ColumnBlock::operator=(ColumnBlock&&) noexcept = default;

Status ColumnBlock::Open(std::string_view head) {
  impl_->entries = 0;
  if (head.size() < kChecksumBytes) return Malformed();
  const std::string_view checked = head.substr(0, head.size() - kChecksumBytes);
  if (DecodeU32(head.data() + checked.size()) == BlockChecksum(checked) && impl_->Open(checked)) {
    return {};
  }
  impl_->entries = 0;
  return Malformed();
}

bool ColumnBlock::Impl::Open(std::string_view head) {
  ByteReader in(head);
  uint8_t version = 0;
  uint32_t columns = 0;
  uint32_t shapes = 0;
  std::array<uint64_t, 5> sizes{};
  if (!in.GetByte(&version) || version != kBlockVersion ||
      !in.GetNumber(&entries, kMaxBlockEntries) || entries == 0 ||
      !in.GetNumber(&columns, kMaxBlockColumns) || columns == 0 ||
      !in.GetNumber(&shapes, kMaxBlockShapes) || shapes == 0) {
    return false;
  }
  for (uint64_t& size : sizes) {
    if (!in.GetVarint(&size)) return false;
  }
  streams.clear();
  uint64_t at = head.size() + kChecksumBytes;
  for (uint32_t i = 0; i < columns; ++i) {
    Stream stream;
    if (!in.GetNumber(&stream.size, std::numeric_limits<uint32_t>::max())) return false;
    stream.offset = static_cast<uint32_t>(at);
    at += stream.size;
    if (at > std::numeric_limits<uint32_t>::max()) return false;
    streams.push_back(stream);
  }
  std::array<std::string_view, 5> sections;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!in.GetBytes(sizes[i], &sections[i])) return false;
  }
  if (!in.done()) return false;
  if (!schema || schema_bytes != sections[0] || schema->columns.size() != columns ||
      schema->shapes.size() != shapes) {
    schema = ReadSchema(sections[0], columns, shapes);
    if (!schema) return false;
    schema_bytes = sections[0];
  }
  ByteReader keys(sections[1]);
  return ReadKeyRuns(&keys, entries, &runs, &stems) && keys.done() && ReadTimes(sections[2]) &&
         ReadShapes(sections[3]) && ReadSequences(sections[4]);
}

bool ColumnBlock::Impl::ReadTimes(std::string_view section) {
  ByteReader in(section);
  uint64_t unit = 0;
  if (!in.GetVarint(&unit) ||
      std::ranges::find(kTimeUnits, static_cast<int64_t>(unit)) == std::ranges::end(kTimeUnits)) {
    return false;
  }
  times.resize(entries);
  if (!ReadInts(&in, times) || !in.done()) return false;
  const auto factor = static_cast<int64_t>(unit);
  for (TimeUs& time : times) {
    if (time < 0 || time > kMaxTimeUs / factor) return false;
    time *= factor;
  }
  return true;
}

bool ColumnBlock::Impl::ReadShapes(std::string_view section) {
  shape_of.clear();
  indexes.clear();
  if (schema->shapes.size() > 1) {
    ByteReader in(section);
    shape_of.resize(entries);
    if (!ReadInts(&in, shape_of) || !in.done()) return false;
    const auto shapes = static_cast<int64_t>(schema->shapes.size());
    for (const int64_t shape : shape_of) {
      if (shape < 0 || shape >= shapes) return false;
    }
  } else if (!section.empty()) {
    return false;
  }
  CountValues();
  return true;
}

bool ColumnBlock::Impl::ReadSequences(std::string_view section) {
  ByteReader in(section);
  uint64_t count = 0;
  if (!in.GetVarint(&count) || count == 0 || count > entries) return false;
  std::vector<uint64_t> distinct;
  uint64_t last = 0;
  for (; count > 0; --count) {
    uint64_t more = 0;
    if (!in.GetVarint(&more) || more > std::numeric_limits<uint64_t>::max() - last) return false;
    if (more == 0 && !distinct.empty()) return false;
    distinct.push_back(last += more);
  }
  has_rewrites = false;
  sequences.assign(entries, distinct.front());
  if (distinct.size() == 1) return in.done();
  std::vector<int64_t> places(entries);
  if (!ReadInts(&in, places) || !in.done()) return false;
  for (uint32_t entry = 0; entry < entries; ++entry) {
    if (places[entry] < 0 || static_cast<size_t>(places[entry]) >= distinct.size()) return false;
    sequences[entry] = distinct[static_cast<size_t>(places[entry])];
  }
  has_rewrites = FindRewrites();
  return true;
}

bool ColumnBlock::Impl::FindRewrites() const {
  for (size_t i = 0; i < runs.size(); ++i) {
    const KeyRun& run = runs[i];
    const auto end = times.begin() + run.end;
    if (std::adjacent_find(times.begin() + run.begin, end) != end) return true;
    if (i == 0 || times[run.begin - 1] != times[run.begin]) continue;
    std::string before;
    std::string first;
    RenderKey(runs[i - 1], times[run.begin - 1], &before);
    RenderKey(run, times[run.begin], &first);
    if (before == first) return true;
  }
  return false;
}

void ColumnBlock::Impl::CountValues() {
  const size_t columns = schema->columns.size();
  if (shape_of.empty()) {
    values_of.assign(columns, 0);
    for (const uint32_t column : schema->shapes.front()) values_of[column] = entries;
    return;
  }
  std::vector<uint32_t> entries_of(schema->shapes.size(), 0);
  for (const int64_t shape : shape_of) ++entries_of[static_cast<size_t>(shape)];
  values_of.assign(columns, 0);
  for (size_t shape = 0; shape < entries_of.size(); ++shape) {
    for (const uint32_t column : schema->shapes[shape]) values_of[column] += entries_of[shape];
  }
}

uint32_t ColumnBlock::entries() const { return impl_->entries; }
const std::shared_ptr<const BlockSchema>& ColumnBlock::schema() const { return impl_->schema; }
std::span<const KeyRun> ColumnBlock::runs() const { return impl_->runs; }
std::span<const TimeUs> ColumnBlock::times() const { return impl_->times; }
bool ColumnBlock::has_one_shape() const { return impl_->shape_of.empty(); }

std::span<const uint64_t> ColumnBlock::sequences() const { return impl_->sequences; }
bool ColumnBlock::has_rewrites() const { return impl_->has_rewrites; }

uint32_t ColumnBlock::shape_of(uint32_t entry) const {
  return impl_->shape_of.empty() ? 0 : static_cast<uint32_t>(impl_->shape_of[entry]);
}

const KeyRun& ColumnBlock::RunOf(uint32_t entry) const {
  const auto& runs = impl_->runs;
  const auto after = std::partition_point(runs.begin(), runs.end(),
                                          [&](const KeyRun& run) { return run.begin <= entry; });
  return *std::prev(after);
}

void ColumnBlock::GetKey(uint32_t entry, std::string* key) const {
  RenderKey(RunOf(entry), impl_->times[entry], key);
}

uint32_t ColumnBlock::LowerBound(std::string_view key) const {
  std::string candidate;
  uint32_t begin = 0;
  uint32_t end = entries();
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    GetKey(middle, &candidate);
    if (candidate < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

uint32_t ColumnBlock::RowBegin(uint32_t entry) const {
  while (true) {
    const KeyRun& run = RunOf(entry);
    if (run.time == KeyTime::kNone) entry = run.begin;
    while (entry > run.begin &&
           SameKeyTime(run.time, impl_->times[entry - 1], impl_->times[entry])) {
      --entry;
    }
    if (entry != run.begin || entry == 0 || !impl_->HaveOneKey(*this, entry - 1, entry)) {
      return entry;
    }
    --entry;
  }
}

uint32_t ColumnBlock::RowEnd(uint32_t entry) const {
  while (true) {
    const KeyRun& run = RunOf(entry);
    if (run.time == KeyTime::kNone) entry = run.end - 1;
    ++entry;
    while (entry < run.end && SameKeyTime(run.time, impl_->times[entry - 1], impl_->times[entry])) {
      ++entry;
    }
    if (entry != run.end || entry == impl_->entries ||
        !impl_->HaveOneKey(*this, entry - 1, entry)) {
      return entry;
    }
  }
}

ColumnBlock::Stream ColumnBlock::StreamOf(uint32_t column) const { return impl_->streams[column]; }

Status ColumnBlock::Decode(uint32_t column, std::string_view stream, ColumnData* data) const {
  if (stream.size() < kChecksumBytes) return Malformed();
  const std::string_view bytes = stream.substr(kChecksumBytes);
  if (DecodeU32(stream.data()) != BlockChecksum(bytes) ||
      !DecodeColumn(bytes, impl_->values_of[column], data)) {
    return Malformed();
  }
  return {};
}

std::span<const uint32_t> ColumnBlock::IndexesOf(uint32_t column) const {
  const Impl& impl = *impl_;
  if (impl.indexes.empty()) impl.indexes.resize(impl.schema->columns.size());
  std::vector<uint32_t>& indexes = impl.indexes[column];
  if (!indexes.empty()) return indexes;
  std::vector<char> has(impl.schema->shapes.size());
  for (size_t shape = 0; shape < has.size(); ++shape) {
    const std::vector<uint32_t>& columns = impl.schema->shapes[shape];
    has[shape] = std::find(columns.begin(), columns.end(), column) != columns.end() ? 1 : 0;
  }
  indexes.reserve(impl.entries);
  uint32_t next = 0;
  for (uint32_t entry = 0; entry < impl.entries; ++entry) {
    indexes.push_back(has[shape_of(entry)] != 0 ? next++ : kAbsent);
  }
  return indexes;
}

}  // namespace tallyd
