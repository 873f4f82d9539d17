#include "storage/bigtable/catalogue/field_notes.h"

#include <algorithm>
#include <charconv>

namespace tallyd {
namespace {

constexpr std::string_view kFieldRows = "f/";
constexpr std::string_view kMissedRows = "m/";
constexpr char kSpelledMark = 's';
// Of spellings: their numbers are about the microseconds of when they were seen, and times of
// cells.
constexpr uint64_t kMostSpelled = uint64_t{1} << 62;

uint64_t NumberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string FieldColumn(std::string_view field, char what) {
  std::string qualifier(field);
  qualifier.push_back('\0');
  qualifier.push_back(what);
  return qualifier;
}

std::string MissedRow(TableId table) { return std::string(kMissedRows) + std::to_string(table); }

// The entry of a row, which is the last one or a new one.
CatalogueEntry& EntryOf(const std::string& key, std::vector<CatalogueEntry>* entries) {
  for (CatalogueEntry& entry : *entries) {
    if (entry.row_key() == key) return entry;
  }
  entries->emplace_back().set_row_key(key);
  return entries->back();
}

}  // namespace

// At first whatever there is: a row that was noted before there were marks has none.
Status FieldNotes::Load(CatalogueRows* rows, std::optional<SteadyTime> until) {
  for (const std::string_view prefix : {kFieldRows, kMissedRows}) {
    std::vector<KeyRange> ranges = {PrefixRange(prefix)};
    if (has_loaded_) {
      Result<std::vector<KeyRange>> changed = Changed(prefix, rows, until);
      if (!changed) return changed.error();
      ranges = std::move(*changed);
    }
    if (Status loaded = LoadRows(std::move(ranges), rows, until); !loaded) return loaded;
  }
  has_loaded_ = true;
  return {};
}

Result<std::vector<KeyRange>> FieldNotes::Changed(std::string_view prefix, CatalogueRows* rows,
                                                  std::optional<SteadyTime> until) const {
  const auto marks = rows->ReadRanges({PrefixRange(prefix)}, kChangedColumn, until);
  if (!marks) return marks.error();
  const std::string changed_column(kChangedColumn);
  std::vector<KeyRange> changed;
  for (const CatalogueRow& row : *marks) {
    const auto known = read_.find(row.key);
    if (known != read_.end() && known->second == row.cells.at(changed_column)) continue;
    changed.push_back(RangeOfKey(row.key));
  }
  return changed;
}

Status FieldNotes::LoadRows(std::vector<KeyRange> ranges, CatalogueRows* rows,
                            std::optional<SteadyTime> until) {
  if (ranges.empty()) return {};
  const auto read = rows->ReadRanges(std::move(ranges), "", until);
  if (!read) return read.error();
  const std::string changed_column(kChangedColumn);
  const std::lock_guard lock(mutex_);
  for (const CatalogueRow& row : *read) {
    for (const auto& [qualifier, value] : row.cells) Take(row.key, qualifier, value);
    const auto mark = row.cells.find(changed_column);
    if (mark != row.cells.end()) read_[row.key] = mark->second;
  }
  return {};
}

// What is malformed was written by another version, and says nothing.
void FieldNotes::Take(std::string_view row, std::string_view qualifier, std::string_view value) {
  if (qualifier == kChangedColumn) return;
  if (row.starts_with(kMissedRows) && !qualifier.empty()) {
    const auto table = static_cast<TableId>(NumberIn(row.substr(kMissedRows.size())));
    const auto how = static_cast<uint8_t>(qualifier[0] - '0');
    uint64_t& sequence = tables_[table][{how, std::string(qualifier.substr(1))}];
    sequence = std::max(sequence, NumberIn(value));
    return;
  }
  if (!row.starts_with(kFieldRows) || qualifier.size() < 2) return;
  if (qualifier[qualifier.size() - 2] != '\0') return;
  const std::string_view name = qualifier.substr(0, qualifier.size() - 2);
  const char what = qualifier.back();
  const uint64_t spelled = what == kSpelledMark ? NumberIn(value) : 0;
  if (spelled > kMostSpelled) return;
  Field& field = streams_[std::string(row.substr(kFieldRows.size()))][std::string(name)];
  if (what == kSpelledMark) {
    field.spelled = std::max(field.spelled, spelled);
    last_spelled_ = std::max(last_spelled_, field.spelled);
  } else if (what >= '0' && what <= '7') {
    field.type_bits = static_cast<uint8_t>(field.type_bits | 1u << (what - '0'));
  }
}

std::vector<CatalogueEntry> FieldNotes::EntriesOf(const BigtableBatch::Notes& notes,
                                                  uint64_t sequence, TimeUs now) {
  std::vector<CatalogueEntry> entries;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, bits] : notes.fields) {
    const Field known = streams_[name.first][name.second];
    for (char bit = 0; bit < 8; ++bit) {
      const auto mask = static_cast<uint8_t>(1u << bit);
      if ((bits & mask) == 0 || (known.type_bits & mask) != 0) continue;
      SetCatalogueCell(FieldColumn(name.second, static_cast<char>('0' + bit)), "", 0,
                       &EntryOf(std::string(kFieldRows) + name.first, &entries));
    }
  }
  for (const auto& [stream, field] : notes.spellings) {
    last_spelled_ = std::max(last_spelled_ + 1, static_cast<uint64_t>(std::max<TimeUs>(now, 0)));
    // Of two daemons the one that saw it later counts.
    SetCatalogueCell(FieldColumn(field, kSpelledMark), std::to_string(last_spelled_),
                     static_cast<int64_t>(last_spelled_ / 1000 * 1000),
                     &EntryOf(std::string(kFieldRows) + stream, &entries));
  }
  for (const auto& [missed, how] : notes.missed) {
    for (const uint8_t bit : {kMissedOutside, kMissedInside}) {
      if ((how & bit) == 0) continue;
      const auto known = tables_[missed.first].find({bit, missed.second});
      if (known != tables_[missed.first].end() && known->second >= sequence) continue;
      SetCatalogueCell(static_cast<char>('0' + bit) + missed.second, std::to_string(sequence),
                       static_cast<int64_t>(sequence) * 1000,
                       &EntryOf(MissedRow(missed.first), &entries));
    }
  }
  for (CatalogueEntry& entry : entries) MarkChanged(&entry);
  return entries;
}

void FieldNotes::Learn(const std::vector<CatalogueEntry>& entries) {
  const std::lock_guard lock(mutex_);
  for (const CatalogueEntry& entry : entries) {
    for (const data_api::Mutation& mutation : entry.mutations()) {
      const data_api::Mutation::SetCell& cell = mutation.set_cell();
      Take(entry.row_key(), cell.column_qualifier(), cell.value());
    }
  }
}

std::vector<FieldInfo> FieldNotes::Fields(std::string_view stream) const {
  std::vector<FieldInfo> fields;
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return fields;
  for (const auto& [name, field] : found->second) {
    if (field.type_bits != 0 || field.spelled != 0) {
      fields.push_back({name, field.type_bits, field.spelled});
    }
  }
  return fields;
}

std::vector<MissedField> FieldNotes::Missed(TableId table) const {
  std::map<std::string, MissedField> by_name;
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return {};
  for (const auto& [missed, sequence] : found->second) {
    MissedField& field = by_name[missed.second];
    field.name = missed.second;
    field.how = static_cast<uint8_t>(field.how | missed.first);
    field.sequence = std::max(field.sequence, sequence);
  }
  std::vector<MissedField> fields;
  for (auto& [name, field] : by_name) fields.push_back(std::move(field));
  return fields;
}

CatalogueEntry FieldNotes::Forget(TableId table) {
  CatalogueEntry gone;
  gone.set_row_key(MissedRow(table));
  gone.add_mutations()->mutable_delete_from_row();
  const std::lock_guard lock(mutex_);
  tables_.erase(table);
  return gone;
}

}  // namespace tallyd
