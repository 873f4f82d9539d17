#include "storage/blocks/block_builder.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "storage/blocks/block_columns.h"
#include "storage/blocks/block_limits.h"
#include "storage/blocks/block_sequences.h"
#include "storage/blocks/block_times.h"
#include "storage/blocks/column_block.h"
#include "storage/blocks/column_codec.h"
#include "storage/blocks/column_lists.h"
#include "storage/blocks/int_codec.h"
#include "storage/blocks/key_runs.h"
#include "storage/blocks/known_lists.h"
#include "storage/bytes/short_values.h"

namespace tallyd {
namespace {

constexpr uint32_t kUnknown = KnownLists::kUnknown;

}  // namespace

struct BlockBuilder::Impl {
  explicit Impl(const BlockBounds& of) : bounds(of), full_columns(of.full_columns()) {}
  void Clear();
  size_t TextBytes() const { return text_bytes + columns.name_bytes() + keys.bytes(); }
  size_t FullAt() const {
    return tallyd::FullAt(times.size(), keys.runs(), lists.cells() + text_bytes);
  }
  template <class NameAt>
  void Add(const EntryId& entry, KnownLists::List* list, std::span<const Value> values,
           const NameAt& name);
  StoredEntry AddWhole(const EntryId& entry, const ColumnSet& set, std::string_view values);
  StoredEntry AddSparse(const EntryId& entry, const ColumnSet& set, std::string_view values);
  bool AddValue(ByteReader* in, size_t place, const ColumnSet& set, KnownLists::List* list);
  void AddEntry(const EntryId& entry, uint32_t list);
  bool AddColumnsOfRun(const RunEntries& entries, std::span<const BlockColumn> run);
  void AddCells(uint32_t entry, const EntryColumns& of);
  void AddKeysOfRun(const KeyRun& run, const RunEntries& entries);
  void AddListsOfRun(const RunEntries& entries, std::span<const BlockColumn> run);
  void EncodeColumns(std::span<const uint32_t> order, std::span<const Presence> presences,
                     std::string* sizes);
  std::string EncodeSchema(std::span<const uint32_t> order, bool with_shapes) const;
  void Encode(bool is_part);

  const BlockBounds bounds;
  const size_t full_columns;
  BlockColumns columns;
  ColumnLists lists;
  KnownLists known;
  std::vector<uint32_t> present;  // Columns of the entry at hand.
  ShortValues found;              // Values of it.

  KeyRunBuilder keys;
  std::vector<int64_t> times;
  std::vector<uint64_t> sequences;
  std::string first_key;
  std::string last_key;
  uint32_t rows = 0;
  size_t text_bytes = 0;
  bool begins_in_midst = false;  // The block before has entries of its first row and time.

  std::string head;
  std::string sections;
  std::string streams;
  std::string bytes;
};

BlockBuilder::BlockBuilder(const BlockBounds& bounds) : impl_(std::make_unique<Impl>(bounds)) {}
BlockBuilder::~BlockBuilder() = default;

bool BlockBuilder::empty() const { return impl_->times.empty(); }

bool BlockBuilder::IsFull() const {
  const Impl& impl = *impl_;
  return impl.times.size() >= impl.FullAt() || impl.lists.cells() >= kFullCells ||
         impl.TextBytes() >= kFullTextBytes || impl.columns.size() >= impl.full_columns ||
         impl.lists.AreTooMany(impl.columns.size()) ||
         (impl.begins_in_midst && !impl.times.empty());
}

bool BlockBuilder::TakesColumns(size_t more) const {
  return impl_->columns.size() + more <= impl_->full_columns;
}

bool BlockBuilder::ContinuesLast(std::string_view row_key, TimeUs time) const {
  return !impl_->times.empty() && impl_->times.back() == time && impl_->last_key == row_key;
}

bool BlockBuilder::TakesMore(size_t columns) const {
  const Impl& impl = *impl_;
  return impl.times.size() < impl.bounds.entries &&
         impl.columns.size() + columns <= impl.bounds.columns &&
         impl.lists.cells() < kMostCells &&
         impl.TextBytes() < impl.bounds.text_bytes;
}

void BlockBuilder::Add(const EntryId& entry, std::span<const ColumnRef> columns,
                       std::span<const Value> values, const void* identity) {
  impl_->Add(entry, impl_->known.Find(columns.size(), identity), values,
             [&](size_t i) { return columns[i]; });
}

void BlockBuilder::Add(const EntryId& entry, const ColumnSet& set, std::span<const Value> values) {
  impl_->Add(entry, impl_->known.Find(set.columns.size(), &set), values,
             [&](size_t i) { return set.columns[i].ref(); });
}

StoredEntry BlockBuilder::AddStored(const EntryId& entry, const ColumnSet& set,
                                    std::string_view values, bool is_whole) {
  return is_whole ? impl_->AddWhole(entry, set, values) : impl_->AddSparse(entry, set, values);
}

template <class NameAt>
void BlockBuilder::Impl::Add(const EntryId& entry, KnownLists::List* list,
                             std::span<const Value> values, const NameAt& name) {
  // No branch: which values there are is often chance.
  present.resize(values.size());
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    present[count] = static_cast<uint32_t>(i);
    count += values[i].is_null() ? 0 : 1;
  }
  for (uint32_t& place : std::span(present).first(count)) {
    const Value& value = values[place];
    uint32_t& column = list->columns[place];
    if (column == kUnknown) column = columns.NumberOf(name(place));
    text_bytes += value.text_size();
    columns[column].values.Add(value);
    place = column;
  }
  const bool is_whole = count == values.size();
  uint32_t number = is_whole ? list->number : kUnknown;
  if (number == kUnknown) number = lists.NumberOf(std::span(present).first(count));
  if (is_whole) list->number = number;
  AddEntry(entry, number);
}

StoredEntry BlockBuilder::Impl::AddWhole(const EntryId& entry, const ColumnSet& set,
                                         std::string_view values) {
  KnownLists::List* const list = known.Find(set.columns.size(), &set);
  const std::span<uint32_t> numbers = list->columns;
  size_t text = 0;
  ByteReader in(values);
  for (size_t i = 0; i < numbers.size(); ++i) {
    Value value;
    if (!DecodeValue(&in, &value) || value.is_null()) return StoredEntry::kMalformed;
    if (numbers[i] == kUnknown) numbers[i] = columns.NumberOf(set.columns[i].ref());
    text += value.text_size();
    columns[numbers[i]].values.Add(value);
  }
  if (!in.done() || numbers.empty()) return StoredEntry::kMalformed;
  text_bytes += text;
  if (list->number == kUnknown) list->number = lists.NumberOf(numbers);
  AddEntry(entry, list->number);
  return StoredEntry::kAdded;
}

// Those that are there alone, where these can be told at once.
StoredEntry BlockBuilder::Impl::AddSparse(const EntryId& entry, const ColumnSet& set,
                                          std::string_view values) {
  KnownLists::List* const list = known.Find(set.columns.size(), &set);
  present.clear();
  if (found.Find(values, list->columns.size())) {
    for (uint64_t there = found.there(); there != 0; there &= there - 1) {
      const auto place = static_cast<size_t>(std::countr_zero(there));
      ByteReader in(values.substr(found.begin(place)));
      if (!AddValue(&in, place, set, list)) return StoredEntry::kMalformed;
    }
  } else {
    ByteReader in(values);
    for (size_t place = 0; place < list->columns.size(); ++place) {
      if (!AddValue(&in, place, set, list)) return StoredEntry::kMalformed;
    }
    if (!in.done()) return StoredEntry::kMalformed;
  }
  if (present.empty()) return StoredEntry::kNothing;
  AddEntry(entry, lists.NumberOf(present));
  return StoredEntry::kAdded;
}

// The next value, which is that of the set's column at this place.
bool BlockBuilder::Impl::AddValue(ByteReader* in, size_t place, const ColumnSet& set,
                                  KnownLists::List* list) {
  Value value;
  if (!DecodeValue(in, &value)) return false;
  if (value.is_null()) return true;
  uint32_t& column = list->columns[place];
  if (column == kUnknown) column = columns.NumberOf(set.columns[place].ref());
  text_bytes += value.text_size();
  columns[column].values.Add(value);
  present.push_back(column);
  return true;
}

void BlockBuilder::Impl::AddEntry(const EntryId& entry, uint32_t list) {
  const bool is_first = times.empty();
  if (is_first) first_key.assign(entry.row_key);
  const size_t common = is_first ? 0 : CommonBytes(entry.row_key, last_key);
  if (is_first || common < entry.row_key.size() || common < last_key.size()) {
    ++rows;
    last_key.assign(entry.row_key);
    keys.Add(entry.row_key, entry.time, common);
  } else {
    keys.AddAgain(entry.row_key, entry.time);
  }
  times.push_back(entry.time);
  sequences.push_back(entry.sequence);
  lists.AddEntries(list, 1);
}

size_t BlockBuilder::room() const { return IsFull() ? 0 : impl_->FullAt() - impl_->times.size(); }

void BlockBuilder::AddRun(const KeyRun& run, const RunEntries& entries,
                          std::span<const BlockColumn> columns) {
  Impl& impl = *impl_;
  if (impl.AddColumnsOfRun(entries, columns)) {
    std::erase(impl.present, kUnknown);
    impl.lists.AddEntries(impl.lists.NumberOf(impl.present), entries.times.size());
  } else {
    impl.AddListsOfRun(entries, columns);
  }
  impl.AddKeysOfRun(run, entries);
}

size_t BlockBuilder::AddRun(const KeyRun& run, const RunEntries& entries,
                            std::span<const EntryColumns> columns) {
  size_t count = 0;
  do {
    impl_->AddCells(static_cast<uint32_t>(entries.first + count), columns[count]);
  } while (++count < columns.size() && !IsFull());
  impl_->AddKeysOfRun(run, entries.First(count));
  return count;
}

void BlockBuilder::Impl::AddCells(uint32_t entry, const EntryColumns& of) {
  KnownLists::List* const list = known.Find(of.columns.size(), of.identity);
  for (size_t i = 0; i < of.columns.size(); ++i) {
    uint32_t& column = list->columns[i];
    if (column == kUnknown) column = columns.NumberOf(of.columns[i].name);
    const Value value = of.columns[i].data->At(of.columns[i].PlaceOf(entry));
    text_bytes += value.text_size();
    columns[column].values.Add(value);
  }
  if (list->number == kUnknown) list->number = lists.NumberOf(list->columns);
  lists.AddEntries(list->number, 1);
}

void BlockBuilder::Impl::AddKeysOfRun(const KeyRun& run, const RunEntries& entries) {
  const std::span<const TimeUs> run_times = entries.times;
  std::string first;
  RenderKey(run, run_times.front(), &first);
  if (times.empty()) first_key = first;
  if (times.empty() || last_key != first) ++rows;
  for (size_t i = 1; i < run_times.size(); ++i) {
    if (!SameKeyTime(run.time, run_times[i - 1], run_times[i])) ++rows;
  }
  RenderKey(run, run_times.back(), &last_key);
  keys.AddRun(run, static_cast<uint32_t>(run_times.size()));
  times.insert(times.end(), run_times.begin(), run_times.end());
  sequences.insert(sequences.end(), entries.sequences.begin(), entries.sequences.end());
}

// Sets `present` to the numbers of the columns; unknown where no entry has it. True: all entries
// have the same of them.
bool BlockBuilder::Impl::AddColumnsOfRun(const RunEntries& entries,
                                         std::span<const BlockColumn> run) {
  const auto end = static_cast<uint32_t>(entries.first + entries.times.size());
  present.clear();
  bool is_whole = true;
  for (const BlockColumn& column : run) {
    const uint32_t begin = column.PlaceOf(entries.first);
    const uint32_t count = column.PlaceOf(end) - begin;
    present.push_back(count > 0 ? columns.NumberOf(column.name) : kUnknown);
    if (count == 0) continue;
    ColumnBuffer& values = columns[present.back()].values;
    const size_t before = values.text_bytes();
    values.AddRange(*column.data, begin, count);
    text_bytes += values.text_bytes() - before;
    is_whole = is_whole && count == entries.times.size();
  }
  return is_whole;
}

void BlockBuilder::Impl::AddListsOfRun(const RunEntries& entries,
                                       std::span<const BlockColumn> run) {
  std::vector<uint32_t> list(run.size());
  for (size_t i = 0; i < entries.times.size(); ++i) {
    size_t size = 0;
    // No branch: which of them an entry has is often chance.
    for (size_t c = 0; c < run.size(); ++c) {
      list[size] = present[c];
      size += run[c].Has(static_cast<uint32_t>(entries.first + i)) ? 1 : 0;
    }
    lists.AddEntries(lists.NumberOf(std::span(list).first(size)), 1);
  }
}

std::string BlockBuilder::Impl::EncodeSchema(std::span<const uint32_t> order,
                                             bool with_shapes) const {
  std::string text;
  for (const uint32_t column : order) {
    PutVarint(&text, columns[column].name.family);
    PutString(&text, columns[column].name.qualifier);
  }
  for (size_t i = 0; with_shapes && i < lists.size(); ++i) {
    PutVarint(&text, lists[i].size());
    uint32_t before = 0;
    for (const uint32_t column : lists[i]) {
      PutVarint(&text, ZigZag(static_cast<int64_t>(column) - before));
      before = column + 1;
    }
  }
  std::string schema;
  AppendText(text, &schema);
  return schema;
}

// Streams, in this order; each begins with its column's presence, where that is given.
void BlockBuilder::Impl::EncodeColumns(std::span<const uint32_t> order,
                                       std::span<const Presence> presences, std::string* sizes) {
  streams.clear();
  for (const uint32_t column : order) {
    const size_t begin = streams.size();
    streams.append(kChecksumBytes, '\0');
    if (!presences.empty()) AppendPresence(presences[column], &streams);
    columns[column].values.Encode(&streams);
    const std::string_view data = std::string_view(streams).substr(begin + kChecksumBytes);
    EncodeU32(streams.data() + begin, BlockChecksum(data));
    PutVarint(sizes, streams.size() - begin);
  }
}

// Head: version, counts, sizes of the sections and of the columns' streams, sections, checksum.
void BlockBuilder::Impl::Encode(bool is_part) {
  const bool by_presence =
      !is_part && lists.size() > 1 && lists.ArePresencesSmaller(columns.size());
  std::span<const Presence> presences;
  if (by_presence) presences = lists.Presences(columns.size());
  const std::vector<uint32_t> order = columns.Order(by_presence);
  std::string sizes;
  EncodeColumns(order, presences, &sizes);
  const uint8_t whole = by_presence ? kPresenceVersion : kShapesVersion;
  head.assign(1, static_cast<char>(is_part ? kPartVersion : whole));
  PutVarint(&head, times.size());
  PutVarint(&head, columns.size());
  PutVarint(&head, by_presence ? 0 : lists.size());
  sections.clear();
  size_t begin = 0;
  const auto end_section = [&] {
    PutVarint(&head, sections.size() - begin);
    begin = sections.size();
  };
  sections.append(EncodeSchema(order, !by_presence));
  end_section();
  keys.Encode(&sections);
  end_section();
  const int64_t unit = DivideByUnit(times);
  PutVarint(&sections, static_cast<uint64_t>(unit));
  AppendInts(times, &sections);
  for (int64_t& time : times) time *= unit;
  end_section();
  if (!by_presence && lists.size() > 1) AppendInts(lists.of_entries(), &sections);
  end_section();
  AppendSequences(sequences, &sections);
  end_section();
  head.append(sizes).append(sections);
  PutU32(&head, BlockChecksum(head));
  bytes.assign(head).append(streams);
}

void BlockBuilder::Impl::Clear() {
  columns.Clear();
  lists.Clear();
  known.Clear();
  keys.Clear();
  times.clear();
  sequences.clear();
  rows = 0;
  text_bytes = 0;
}

BuiltBlock BlockBuilder::Finish(bool goes_on) {
  impl_->Encode(goes_on || impl_->begins_in_midst);
  BuiltBlock built;
  built.bytes = impl_->bytes;
  built.head_size = static_cast<uint32_t>(impl_->head.size());
  built.entries = static_cast<uint32_t>(impl_->times.size());
  built.rows = impl_->rows;
  built.runs = static_cast<uint32_t>(impl_->keys.runs());
  built.columns = impl_->columns.size();
  built.cells = impl_->lists.cells();
  built.first_key = impl_->first_key;
  built.last_key = impl_->last_key;
  const auto [least, greatest] = std::minmax_element(impl_->times.begin(), impl_->times.end());
  built.min_time = *least;
  built.max_time = *greatest;
  const auto [first, last] = std::minmax_element(impl_->sequences.begin(), impl_->sequences.end());
  built.min_sequence = *first;
  built.max_sequence = *last;
  impl_->Clear();
  impl_->begins_in_midst = goes_on;
  return built;
}

}  // namespace tallyd
