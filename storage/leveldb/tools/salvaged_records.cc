#include "storage/leveldb/tools/salvaged_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/batch.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

KeySpace SpaceOf(std::string_view key) { return static_cast<KeySpace>(key[0]); }

std::string Number(uint64_t number) {
  std::string bytes;
  PutU64(&bytes, number);
  return bytes;
}

uint64_t ReadNumber(std::string_view bytes) {
  uint64_t number = 0;
  return ByteReader(bytes).GetU64(&number) ? number : 0;
}

bool IsMeta(std::string_view key, MetaKind kind) { return key == MetaKey(kind); }

bool HoldsEntries(std::string_view key) {
  return SpaceOf(key) == KeySpace::kRows || SpaceOf(key) == KeySpace::kGroups;
}

// As Head::Checksum.
uint64_t ChecksumOfEntries(const std::map<std::string, std::string>& records) {
  ContentChecksum checksum;
  for (const auto& [key, value] : records) {
    if (!HoldsEntries(key)) continue;
    std::string sizes;
    PutVarint(&sizes, key.size());
    PutVarint(&sizes, value.size());
    checksum.Add(sizes);
    checksum.Add(key);
    checksum.Add(value);
  }
  return checksum.Get();
}

}  // namespace

void SalvagedRecords::Lose(const std::string& path, std::string problem) {
  report_.findings.push_back(FindingOf(path, std::move(problem)));
}

const TableInfo* SalvagedRecords::FindTable(TableId table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : &found->second;
}

void SalvagedRecords::TakeBase(const std::string& path, LevelRecords base) {
  using Base = SalvageReport::Base;
  base_path_ = path;
  base_is_used_ = base.records.contains(MetaKey(MetaKind::kSealedHead)) ||
                  base.records.contains(MetaKey(MetaKind::kNextTable));
  report_.base = base.whole ? Base::kWhole : base.records.empty() ? Base::kGone : Base::kDamaged;
  for (auto& [key, value] : base.records) {
    switch (SpaceOf(key)) {
      case KeySpace::kMeta:
        TakeMeta(key, value);
        break;
      case KeySpace::kBlockFiles:
        if (const Result<BlockFileInfo> info = DecodeBlockFile(key, value)) {
          recorded_.emplace(info->number, *info);
        } else {
          Lose(path, "a record of a block file: " + info.error().message());
        }
        break;
      case KeySpace::kFileNotes:
        TakeNote(key, value);
        break;
      case KeySpace::kLatest:
      case KeySpace::kDeletes:
      case KeySpace::kMemos:
        base_[key] = std::move(value);
        break;
      default:  // None of base's.
        break;
    }
  }
  for (const auto& [id, table] : tables_) tables_of_base_.insert(id);
}

// Damage is found anew; a dropped file is not.
void SalvagedRecords::TakeNote(const std::string& key, const std::string& value) {
  const Result<uint64_t> number = ParseFileNoteKey(key);
  const Result<FileNote> note = DecodeFileNote(value);
  if (number && note && note->kind == FileNote::Kind::kDropped) {
    dropped_[*number] = note->checksum;
  }
}

void SalvagedRecords::TakeMeta(const std::string& key, const std::string& value) {
  if (IsMeta(key, MetaKind::kSealedHead)) sealed_head_ = ReadNumber(value);
  if (IsMeta(key, MetaKind::kStoreId)) store_ = value;
  if (IsMeta(key, MetaKind::kLastSequence)) {
    last_sequence_ = std::max(last_sequence_, ReadNumber(value));
  }
  if (IsMeta(key, MetaKind::kNextTable)) {
    ByteReader(value).GetU32(&next_table_);
    return;
  }
  if (key.size() < 2) return;
  ByteReader in(std::string_view(key).substr(2));
  switch (static_cast<MetaKind>(key[1])) {
    case MetaKind::kTable: {
      Result<TableInfo> table = DecodeTable(value);
      if (table && in.GetU32(&table->id)) return AddTable(*table);
      return Lose(base_path_, "a record of a table cannot be read");
    }
    case MetaKind::kColumnSet: {
      TableId table = 0;
      uint32_t set = 0;
      Result<std::vector<Column>> columns = DecodeColumnSet(value);
      const bool good = columns && in.GetU32(&table) && in.GetU32(&set);
      if (!good || !sets_.Load(table, set, std::move(*columns))) {
        return Lose(base_path_, "a record of a set of columns cannot be read");
      }
      break;
    }
    case MetaKind::kStream:
      if (!DecodeStream(value)) return Lose(base_path_, "a record of a stream cannot be read");
      break;
    case MetaKind::kHeadNote: {  // Of use for the old store only.
      uint64_t head = 0;
      const Result<HeadNote> note = DecodeHeadNote(value);
      if (note && in.GetU64(&head)) head_notes_[head] = *note;
      return;
    }
    case MetaKind::kOpenings:
      if (!DecodeOpenings(value)) return;
      break;
    case MetaKind::kField:
    case MetaKind::kMissedField:
    case MetaKind::kRetentionClock:
      break;
    default:  // Of the old store only.
      return;
  }
  base_[key] = value;
}

// Where base tells the same, it has the say: what it says of a table may be newer.
void SalvagedRecords::TakeCopies(const Records& head) {
  const std::string space(1, static_cast<char>(KeySpace::kCopies));
  for (auto at = head.lower_bound(space); at != head.end() && at->first.starts_with(space); ++at) {
    const std::string key = at->first.substr(1);
    ByteReader in(std::string_view(key).substr(std::min<size_t>(key.size(), 2)));
    TableId table = 0;
    const bool is_table = key.starts_with(MetaKey(MetaKind::kTable)) && in.GetU32(&table);
    if (base_.contains(key) || (is_table && tables_.contains(table))) continue;
    if (!key.empty() && SpaceOf(key) == KeySpace::kMeta) TakeMeta(key, at->second);
  }
}

void SalvagedRecords::TakeHead(const std::string& path, uint64_t number, LevelRecords head) {
  ++report_.heads;
  if (!head.whole) ++report_.damaged_heads;
  const auto store = head.records.find(MetaKey(MetaKind::kStoreId));
  if (store != head.records.end() && store_.empty()) store_ = store->second;
  if (store != head.records.end() && store->second != store_) {
    return Lose(path, "it is a head of the store " + HexOfStoreId(store->second) +
                          ", and the others are not: it is left out");
  }
  HeadClaims claims;
  for (const auto& [key, value] : head.records) {
    if (const Status taken = claims.Take(key, value); !taken) Lose(path, taken.error().message());
  }
  if (!MayTake(path, number, claims)) return;
  for (const auto& [key, value] : head.records) {
    head_has_entries_ = head_has_entries_ || HoldsEntries(key);
  }
  TellOlderBase(path, claims);
  std::set<TableId> contradicted = FindContradicted(path, claims);
  if (head.whole) head_checksums_[number] = ChecksumOfEntries(head.records);
  TakeCopies(head.records);
  heads_.push_back({path, std::move(head.records), std::move(contradicted)});
}

// What adds up would count twice. One that lies under another number, or behind something that is
// missing, is told and taken.
bool SalvagedRecords::MayTake(const std::string& path, uint64_t number, const HeadClaims& claims) {
  if (before_.last_sequence == 0 && report_.base == SalvageReport::Base::kWhole) {
    before_.last_sequence = last_sequence_;
  }
  const Contradiction found = claims.JudgePlace(number, before_);
  const bool may_take = !claims.origin() || claims.origin()->after >= before_.last_sequence;
  if (!found.empty()) Lose(path, found + (may_take ? "" : ": it is left out"));
  if (may_take && claims.last_sequence() > 0) {
    before_ = {std::max(before_.last_sequence, claims.last_sequence()), true};
  }
  return may_take;
}

// A base that is whole knows what its heads use. One that does not is of an earlier moment.
void SalvagedRecords::TellOlderBase(const std::string& path, const HeadClaims& claims) {
  if (base_is_older_ || !base_is_used_ || report_.base != SalvageReport::Base::kWhole) return;
  const bool lacks_table = std::ranges::any_of(claims.tables(), [&](const auto& copy) {
    return copy.first >= next_table_ && !tables_.contains(copy.first);
  });
  const bool lacks_set = std::ranges::any_of(claims.sets(), [&](const auto& copy) {
    const auto& [table, set] = copy.first;
    return tables_of_base_.contains(table) && sets_.Find(table, set) == nullptr;
  });
  if (!lacks_table && !lacks_set) return;
  base_is_older_ = true;
  Lose(base_path_, "it is older than " + path +
                       ", which tells what it lacks of tables and columns; what else came to it "
                       "since, as rows of latest tables, is lost");
}

// Of what base, or a head before, says of the same numbers. What either does not tell of is no
// contradiction here: the copies do.
std::set<TableId> SalvagedRecords::FindContradicted(const std::string& path,
                                                    const HeadClaims& claims) {
  std::set<TableId> contradicted;
  const auto lose = [&](TableId table, const std::string& why) {
    if (contradicted.insert(table).second) Lose(path, why + ": they are left out");
  };
  for (const auto& [id, copy] : claims.tables()) {
    const auto known = tables_.find(id);
    if (known == tables_.end()) continue;
    TableInfo shared = copy;
    const size_t families = known->second.families.size();
    if (shared.families.size() > families) shared.families.resize(families);
    const Contradiction found = JudgeTable(shared, known->second);
    if (!found.empty()) {
      lose(id, found);
    } else if (copy.families.size() > families) {
      known->second = copy;  // Base, which is older, lacks families at the end.
    }
  }
  for (const auto& [number, columns] : claims.sets()) {
    const ColumnSet* const known = sets_.Find(number.first, number.second);
    if (known == nullptr || known->columns == columns) continue;
    lose(number.first, fmt::format("set {} of the columns of table {} is another one in base, and "
                                   "its entries would be read by that",
                                   number.second, number.first));
  }
  return contradicted;
}

std::optional<uint64_t> SalvagedRecords::ChecksumOf(uint64_t head) const {
  const auto known = head_checksums_.find(head);
  if (known == head_checksums_.end()) return std::nullopt;
  return known->second;
}

void SalvagedRecords::AddTable(const TableInfo& table) {
  tables_.try_emplace(table.id, table);
  next_table_ = std::max(next_table_, table.id + 1);
  SalvagedTable& counts = report_.tables[table.id];
  counts.name = table.name;
  counts.mode = table.mode;
}

void SalvagedRecords::AddFile(const BlockFileInfo& file) {
  files_.push_back(file);
  last_sequence_ = std::max(last_sequence_, file.max_sequence);
}

void SalvagedRecords::Resolve() {
  ResolveBase();
  for (OfHead& head : heads_) ResolveHead(&head);
  const bool damaged = report_.base != SalvageReport::Base::kWhole || report_.damaged_heads > 0;
  report_.latest_may_be_old =
      damaged && std::any_of(tables_.begin(), tables_.end(), [](const auto& table) {
        return table.second.mode != TableMode::kHistory;
      });
}

void SalvagedRecords::ResolveBase() {
  uint64_t lost = 0;
  for (auto at = base_.begin(); at != base_.end();) {
    const auto& [key, value] = *at;
    bool good = true;
    TimeUs time = 0;
    if (SpaceOf(key) == KeySpace::kDeletes) good = DecodeDelete(value, &time).has_value();
    if (SpaceOf(key) == KeySpace::kMemos) good = DecodeMemo(value).has_value();
    if (SpaceOf(key) == KeySpace::kLatest) {
      std::string row_key;
      const bool named = key.size() >= kTablePrefixBytes && DecodeRowPrefix(key, &row_key);
      const TableId table = named ? DecodeU32(key.data() + 1) : 0;
      good = named && IsUsableRow(table, value);
      if (!good) ++report_.tables[table].lost_rows;
    }
    lost += good ? 0 : 1;
    at = good ? std::next(at) : base_.erase(at);
  }
  if (lost > 0) Lose(base_path_, fmt::format("{} of its records cannot be used", lost));
}

void SalvagedRecords::ResolveHead(OfHead* head) {
  contradicted_ = std::move(head->contradicted);
  std::set<uint64_t> entries;  // Sequences of those that stay.
  uint64_t lost = 0;
  uint64_t last = 0;
  Records kept;
  adrift_.clear();
  SplitGroups(head);
  // Entries come before the changes of latest rows that refer to them.
  for (auto& [key, value] : head->records) {
    uint64_t sequence = 0;
    TimeUs time = 0;
    bool good = true;
    switch (SpaceOf(key)) {
      case KeySpace::kRows:
        good = IsUsableEntry(key, value, &sequence);
        if (good) entries.insert(sequence);
        break;
      case KeySpace::kLatestChanges:
        ByteReader(std::string_view(key).substr(1)).GetU64(&sequence);
        ResolveChanges(entries, &value);
        break;
      case KeySpace::kDeletes:
        good = DecodeDelete(value, &time).has_value() &&
               !contradicted_.contains(DecodeU32(key.data() + 1));
        if (good) ByteReader(std::string_view(key).substr(kTablePrefixBytes)).GetU64(&sequence);
        break;
      case KeySpace::kMemos:
        good = DecodeMemo(value).has_value();
        break;
      case KeySpace::kGroups:
        good = false;
        break;
      case KeySpace::kCopies:  // Their entries are counted.
        if (!IsUsableCopy(key)) continue;
        break;
      case KeySpace::kMeta:
        if (IsMeta(key, MetaKind::kLastSequence)) last = std::max(last, ReadNumber(value));
        continue;
      default:
        break;
    }
    last = std::max(last, sequence);
    if (good) kept[key] = std::move(value);
    if (!good) ++lost;
  }
  if (last > 0) kept[MetaKey(MetaKind::kLastSequence)] = Number(last);
  if (lost > 0) {
    Lose(head->path, fmt::format("{} of its records are malformed, or name tables or columns that "
                                 "nothing tells of",
                                 lost));
  }
  head->records = std::move(kept);
}

// A head that is made anew has each entry under its key. What of a group cannot be read stays, and
// is lost.
void SalvagedRecords::SplitGroups(OfHead* head) {
  const std::string begin(1, static_cast<char>(KeySpace::kGroups));
  Records& records = head->records;
  for (auto at = records.lower_bound(begin); at != records.end() && at->first.starts_with(begin);) {
    ByteReader in(at->second);
    GroupEntry entry;
    EntryKey key;
    bool good = !in.done();
    while (good && !in.done()) {
      good = ReadGroupEntry(&in, &entry) && ParseEntryKey(entry.key, &key);
      if (good) records.emplace(entry.key, entry.value);
    }
    at = good ? records.erase(at) : std::next(at);
  }
}

const TableInfo* SalvagedRecords::TableOfHead(TableId table) const {
  return contradicted_.contains(table) ? nullptr : FindTable(table);
}

// Base tells the same by then.
bool SalvagedRecords::IsUsableCopy(std::string_view key) const {
  ByteReader in(key.substr(std::min<size_t>(key.size(), 3)));
  const std::string_view copied = key.substr(1);
  TableId table = 0;
  uint32_t set = 0;
  if (copied.starts_with(MetaKey(MetaKind::kTable))) {
    return in.GetU32(&table) && TableOfHead(table) != nullptr;
  }
  if (copied.starts_with(MetaKey(MetaKind::kColumnSet))) {
    return in.GetU32(&table) && in.GetU32(&set) && TableOfHead(table) != nullptr &&
           sets_.Find(table, set) != nullptr;
  }
  return true;
}

bool SalvagedRecords::IsUsableEntry(std::string_view key, std::string_view value,
                                    uint64_t* sequence) {
  EntryKey entry;
  if (!ParseEntryKey(key, &entry)) return false;
  const TableId table = DecodeU32(key.data() + 1);
  const TableInfo* info = TableOfHead(table);
  const bool good = info != nullptr && info->mode == TableMode::kHistory &&
                    DecodeEntry(sets_, table, value, &cells_);
  *sequence = entry.sequence;
  SalvagedTable& counts = report_.tables[table];
  ++(good ? counts.entries : counts.lost_entries);
  return good;
}

bool SalvagedRecords::IsUsableRow(TableId table, std::string_view row) {
  std::vector<Layer> layers;
  const bool decoded = IsLatestAddition(row) ? DecodeLayers(LayersOfAddition(row), &layers)
                                             : DecodeLatest(row, &layers);
  return decoded && TableOfHead(table) != nullptr &&
         std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
           return DecodeEntry(sets_, table, layer.entry, &cells_);
         });
}

bool SalvagedRecords::IsUsableTwin(TableId table, std::string_view row,
                                   const std::set<uint64_t>& entries) const {
  LatestTwin twin;
  return TableOfHead(table) != nullptr && DecodeLatestTwin(row, &twin) &&
         entries.contains(twin.entry) && sets_.Find(table, twin.set) != nullptr;
}

// What was added to a row that cannot be used says nothing: with what older heads have it would
// make a row that never was.
bool SalvagedRecords::IsUsableChange(const LatestChangeRecord& change,
                                     const std::set<uint64_t>& entries) {
  const std::pair row(change.table, std::string(change.key));
  if (IsLatestAddition(change.row)) {
    return !adrift_.contains(row) && IsUsableRow(change.table, change.row);
  }
  const bool good = change.row.empty()         ? TableOfHead(change.table) != nullptr
                    : IsLatestTwin(change.row) ? IsUsableTwin(change.table, change.row, entries)
                                               : IsUsableRow(change.table, change.row);
  if (good) {
    adrift_.erase(row);
  } else {
    adrift_.insert(row);
  }
  return good;
}

// Leaves the changes in the record that can be used.
void SalvagedRecords::ResolveChanges(const std::set<uint64_t>& entries, std::string* record) {
  std::string kept;
  ByteReader in(*record);
  while (!in.done()) {
    LatestChangeRecord change;
    if (!ReadLatestChange(&in, &change)) break;
    const bool good = IsUsableChange(change, entries);
    if (good) AppendLatestChange(change, &kept);
    if (!good) ++report_.tables[change.table].lost_rows;
  }
  *record = std::move(kept);
}

Status SalvagedRecords::PutHead(size_t head, const StoreBuilder::Put& put) const {
  Status done;
  for (const auto& [key, value] : heads_[head].records) {
    if (done) done = put(key, value);
  }
  const bool is_empty = heads_[head].records.empty();
  if (done && !is_empty) done = put(MetaKey(MetaKind::kStoreId), store_);
  const bool is_last = head + 1 == heads_.size();
  if (done && !is_last) done = put(MetaKey(MetaKind::kClosedHead), Number(head + 2));
  return done;
}

Status SalvagedRecords::PutBase(const StoreBuilder::Put& put) const {
  std::string next_table;
  PutU32(&next_table, next_table_);
  Status done = put(MetaKey(MetaKind::kFormat), EncodeFormat(kFormatVersion));
  if (done) done = put(MetaKey(MetaKind::kStoreId), store_);
  if (done) done = put(MetaKey(MetaKind::kNextTable), next_table);
  if (done) done = put(MetaKey(MetaKind::kLastSequence), Number(last_sequence_));
  for (const auto& [id, table] : tables_) {
    if (done) done = put(TableKey(id), EncodeTable(table));
  }
  for (const auto& [key, value] : base_) {
    if (done) done = put(key, value);
  }
  for (const BlockFileInfo& file : files_) {
    if (done) done = put(BlockFileKey(file.table, file.number), EncodeBlockFile(file));
  }
  return done;
}

}  // namespace tallyd
