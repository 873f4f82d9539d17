#include "storage/blocks/column_block.h"

#include <xxhash.h>

#include <algorithm>
#include <numeric>

#include "config/values/integers.h"
#include "storage/blocks/column_codec.h"
#include "storage/blocks/int_reader.h"
#include "storage/blocks/key_runs.h"

namespace tallyd {
namespace {

// Of sequences; those of more are looked up one by one.
constexpr size_t kFewStretches = 16;

// Where entries have so few cells in the mean, whoever asks for the presence of more columns than
// these is told that of all at once: each alone is a look at all entries.
constexpr uint64_t kFewCells = 4;
constexpr uint32_t kAskedAlone = 2;

Error Malformed() { return Error(ErrorCode::kCorruption, "a column block is malformed"); }

}  // namespace

uint32_t BlockChecksum(std::string_view bytes) {
  return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

bool IsSoundStream(std::string_view stream) {
  return stream.size() >= kChecksumBytes &&
         DecodeU32(stream.data()) == BlockChecksum(stream.substr(kChecksumBytes));
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
  bool ReadShapes(std::string_view section);
  bool ReadSequences(std::string_view section);
  bool FindRewrites() const;
  void CountValues();
  void PresenceByShapes(uint32_t column, Presence* presence) const;
  void PresencesByShapes() const;

  uint32_t entries = 0;
  std::string schema_bytes;
  std::shared_ptr<const BlockSchema> schema;
  std::vector<KeyRun> runs;
  std::string stems;
  BlockTimes times;
  std::vector<int64_t> shape_of;             // Empty with one shape.
  std::vector<uint64_t> distinct_sequences;  // Ascending.
  // Of the entries, in these: as a few stretches, or one by one. Both empty where there is one.
  std::vector<EqualInts> place_stretches;
  std::vector<int64_t> sequence_places;
  mutable std::vector<uint64_t> sequences;  // Of the entries, once somebody asked for all.
  bool has_rewrites = false;
  bool is_part = false;
  std::vector<Stream> streams;
  std::vector<uint32_t> values_of;           // By column: how many entries' shapes have it.
  mutable std::vector<Presence> presences;   // By column, where it is known.
  uint64_t cells = 0;                        // Of all columns.
  mutable std::vector<bool> knows_presence;  // By column.
  mutable uint32_t presences_asked = 0;      // For, that were not known.
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
  if (!in.GetByte(&version) || version < kShapesVersion || version > kPartVersion ||
      !in.GetNumber(&entries, kMaxBlockEntries) || entries == 0 ||
      !in.GetNumber(&columns, kMaxBlockColumns) || columns == 0 ||
      !in.GetNumber(&shapes, kMaxBlockShapes) || (shapes == 0) != (version == kPresenceVersion)) {
    return false;
  }
  is_part = version == kPartVersion;
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
      schema->by_presence != (shapes == 0) || (shapes > 0 && schema->shapes.size() != shapes)) {
    schema = ReadSchema(sections[0], columns, shapes);
    if (!schema) return false;
    schema_bytes = sections[0];
  }
  ByteReader keys(sections[1]);
  return ReadKeyRuns(&keys, entries, &runs, &stems) && keys.done() &&
         times.Read(sections[2], runs, entries) && ReadShapes(sections[3]) &&
         ReadSequences(sections[4]);
}

bool ColumnBlock::Impl::ReadShapes(std::string_view section) {
  shape_of.clear();
  presences.resize(schema->columns.size());
  knows_presence.assign(schema->columns.size(), false);
  presences_asked = 0;
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
  if (!schema->by_presence) CountValues();
  return true;
}

bool ColumnBlock::Impl::ReadSequences(std::string_view section) {
  ByteReader in(section);
  uint64_t count = 0;
  if (!in.GetVarint(&count) || count == 0 || count > entries) return false;
  sequences.clear();
  sequence_places.clear();
  place_stretches.clear();
  distinct_sequences.clear();
  uint64_t last = 0;
  for (; count > 0; --count) {
    uint64_t more = 0;
    if (!in.GetVarint(&more) || more > std::numeric_limits<uint64_t>::max() - last) return false;
    if (more == 0 && !distinct_sequences.empty()) return false;
    distinct_sequences.push_back(last += more);
  }
  has_rewrites = false;
  const auto distinct = static_cast<int64_t>(distinct_sequences.size());
  if (distinct == 1) return in.done();
  if (ReadEqualInts(&in, entries, kFewStretches, &place_stretches)) {
    const auto is_place = [&](const EqualInts& stretch) {
      return stretch.value >= 0 && stretch.value < distinct;
    };
    if (!in.done() || !std::ranges::all_of(place_stretches, is_place)) return false;
  } else {
    place_stretches.clear();
    sequence_places.resize(entries);
    if (!ReadInts(&in, sequence_places) || !in.done()) return false;
    if (!LieWithin(sequence_places, 0, distinct - 1)) return false;
  }
  has_rewrites = FindRewrites();
  return true;
}

bool ColumnBlock::Impl::FindRewrites() const {
  for (size_t i = 0; i < runs.size(); ++i) {
    const KeyRun& run = runs[i];
    if (!times.runs_ascend()) {
      const auto of_run = times.All().subspan(run.begin, run.end - run.begin);
      if (std::ranges::adjacent_find(of_run) != of_run.end()) return true;
    }
    if (i == 0) continue;
    const TimeUs time_before = times.At(run.begin - 1);
    const TimeUs time = times.At(run.begin);
    if (time_before != time) continue;
    std::string before;
    std::string first;
    RenderKey(runs[i - 1], time_before, &before);
    RenderKey(run, time, &first);
    if (before == first) return true;
  }
  return false;
}

void ColumnBlock::Impl::CountValues() {
  const size_t columns = schema->columns.size();
  std::vector<uint32_t> entries_of(schema->shapes.size(), 0);
  if (shape_of.empty()) entries_of.front() = entries;
  for (const int64_t shape : shape_of) ++entries_of[static_cast<size_t>(shape)];
  values_of.assign(columns, 0);
  for (size_t shape = 0; shape < entries_of.size(); ++shape) {
    for (const uint32_t column : schema->shapes[shape]) values_of[column] += entries_of[shape];
  }
  cells = std::accumulate(values_of.begin(), values_of.end(), uint64_t{0});
}

uint32_t ColumnBlock::entries() const { return impl_->entries; }
const std::shared_ptr<const BlockSchema>& ColumnBlock::schema() const { return impl_->schema; }
std::span<const KeyRun> ColumnBlock::runs() const { return impl_->runs; }
const BlockTimes& ColumnBlock::times() const { return impl_->times; }
bool ColumnBlock::has_one_shape() const { return impl_->shape_of.empty(); }

uint64_t ColumnBlock::cells() const { return impl_->cells; }

uint64_t ColumnBlock::sequence_of(uint32_t entry) const {
  const Impl& impl = *impl_;
  if (impl.distinct_sequences.size() == 1) return impl.distinct_sequences.front();
  if (impl.place_stretches.empty()) {
    return impl.distinct_sequences[static_cast<size_t>(impl.sequence_places[entry])];
  }
  auto stretch = impl.place_stretches.begin();
  for (uint32_t behind = stretch->count; behind <= entry; behind += stretch->count) ++stretch;
  return impl.distinct_sequences[static_cast<size_t>(stretch->value)];
}

std::span<const uint64_t> ColumnBlock::sequences() const {
  const Impl& impl = *impl_;
  if (impl.sequences.empty()) {
    for (const EqualInts& stretch : impl.place_stretches) {
      impl.sequences.insert(impl.sequences.end(), stretch.count,
                            impl.distinct_sequences[static_cast<size_t>(stretch.value)]);
    }
    while (impl.sequences.size() < impl.entries) {
      impl.sequences.push_back(sequence_of(static_cast<uint32_t>(impl.sequences.size())));
    }
  }
  return impl.sequences;
}

bool ColumnBlock::has_rewrites() const { return impl_->has_rewrites; }
bool ColumnBlock::is_part() const { return impl_->is_part; }

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
  RenderKey(RunOf(entry), impl_->times.At(entry), key);
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
  const std::span<const TimeUs> times = impl_->times.All();
  while (true) {
    const KeyRun& run = RunOf(entry);
    if (run.time == KeyTime::kNone) entry = run.begin;
    while (entry > run.begin && SameKeyTime(run.time, times[entry - 1], times[entry])) {
      --entry;
    }
    if (entry != run.begin || entry == 0 || !impl_->HaveOneKey(*this, entry - 1, entry)) {
      return entry;
    }
    --entry;
  }
}

uint32_t ColumnBlock::RowEnd(uint32_t entry) const {
  const std::span<const TimeUs> times = impl_->times.All();
  while (true) {
    const KeyRun& run = RunOf(entry);
    if (run.time == KeyTime::kNone) entry = run.end - 1;
    ++entry;
    while (entry < run.end && SameKeyTime(run.time, times[entry - 1], times[entry])) {
      ++entry;
    }
    if (entry != run.end || entry == impl_->entries ||
        !impl_->HaveOneKey(*this, entry - 1, entry)) {
      return entry;
    }
  }
}

ColumnBlock::Stream ColumnBlock::StreamOf(uint32_t column) const { return impl_->streams[column]; }

Status ColumnBlock::Decode(uint32_t column, std::string_view stream, ColumnData* data) {
  Impl& impl = *impl_;
  if (!IsSoundStream(stream)) return Malformed();
  std::string_view bytes = stream.substr(kChecksumBytes);
  uint32_t count = 0;
  if (impl.schema->by_presence) {
    ByteReader in(bytes);
    Presence& presence = impl.presences[column];
    impl.knows_presence[column] = ReadPresence(&in, impl.entries, &presence);
    if (!impl.knows_presence[column]) return Malformed();
    count = presence.count();
    bytes = in.rest();
  } else {
    count = impl.values_of[column];
  }
  return DecodeColumn(bytes, count, data) ? Status() : Malformed();
}

const Presence* ColumnBlock::PresenceOf(uint32_t column) const {
  const Impl& impl = *impl_;
  if (!impl.schema->by_presence && impl.values_of[column] == impl.entries) return nullptr;
  Presence& presence = impl.presences[column];
  if (!impl.knows_presence[column]) {
    const bool asks_for_many = !impl.schema->by_presence && ++impl.presences_asked > kAskedAlone;
    if (asks_for_many && impl.cells <= impl.entries * kFewCells) {
      impl.PresencesByShapes();
    } else {
      impl.PresenceByShapes(column, &presence);
      impl.knows_presence[column] = true;
    }
  }
  return presence.is_whole() ? nullptr : &presence;
}

void ColumnBlock::Impl::PresenceByShapes(uint32_t column, Presence* presence) const {
  std::vector<char> has(schema->shapes.size());
  for (size_t shape = 0; shape < has.size(); ++shape) {
    const std::vector<uint32_t>& columns = schema->shapes[shape];
    has[shape] = std::find(columns.begin(), columns.end(), column) != columns.end() ? 1 : 0;
  }
  presence->Reset(entries);
  for (uint32_t entry = 0; entry < shape_of.size(); ++entry) {
    if (has[static_cast<size_t>(shape_of[entry])] != 0) presence->Set(entry);
  }
  presence->Count();
}

// Of all columns in one pass over the cells.
void ColumnBlock::Impl::PresencesByShapes() const {
  for (Presence& presence : presences) presence.Reset(entries);
  for (uint32_t entry = 0; entry < shape_of.size(); ++entry) {
    for (const uint32_t column : schema->shapes[static_cast<size_t>(shape_of[entry])]) {
      presences[column].Set(entry);
    }
  }
  for (Presence& presence : presences) presence.Count();
  knows_presence.assign(presences.size(), true);
}

Status ColumnBlock::CheckEntriesHaveCells() const {
  const Impl& impl = *impl_;
  if (!impl.schema->by_presence) return {};
  Presence any;
  any.Reset(impl.entries);
  for (size_t column = 0; column < impl.presences.size(); ++column) {
    if (!impl.knows_presence[column]) return Malformed();
    any.Join(impl.presences[column]);
  }
  any.Count();
  return any.is_whole() ? Status() : Malformed();
}

}  // namespace tallyd
