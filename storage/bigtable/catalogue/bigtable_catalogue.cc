#include "storage/bigtable/catalogue/bigtable_catalogue.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <set>
#include <span>
#include <utility>

#include "storage/bigtable/catalogue/table_admin.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/catalogue/record_codec.h"

namespace tallyd {
namespace {

constexpr std::string_view kPrintColumn = "print";
constexpr std::string_view kPrintColumns = "p/";
constexpr std::string_view kGenerationColumn = "generation";
constexpr std::string_view kNextColumn = "next";
constexpr std::string_view kStreamColumns = "s/";
constexpr std::string_view kTableColumns = "t/";
constexpr int kTries = 5;
// Of adoptions: what is numbered by them goes into times of cells (field_notes.h).
constexpr uint64_t kMostAdoptions = 1'000'000'000'000;

Error DamagedRow(std::string_view what) {
  return Error(ErrorCode::kCorruption,
               fmt::format("the catalogue on Bigtable: {} is damaged, or was written by a newer "
                           "tallyd",
                           what));
}

Error Overtaken() {
  return Error(ErrorCode::kUnavailable,
               "other daemons change the catalogue on Bigtable; try again");
}

template <class T>
bool ParseNumber(std::string_view text, T* number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return failed == std::errc() && end == text.data() + text.size();
}

// A number and, so that no two are alike, who has set it.
std::string VersionText(uint64_t number) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}", number, random(), random());
}

}  // namespace

// What tables hold, as far as one asks for it here: whether any row is there. Where one is, nobody
// knows which times it has not.
class BigtableCatalogue::Past final : public StoredPast {
 public:
  // `schema`: that is adopted.
  Past(const BigtableCatalogue& catalogue, const HoldsRow& holds_row, const Schema& schema)
      : catalogue_(catalogue),
        holds_row_(holds_row),
        schema_(schema),
        sequence_(catalogue.sequence() + 1),
        now_(catalogue.clock_.Now()) {
    for (const TablePtr& table : catalogue.catalogue_.Tables()) tables_[table->id] = table;
  }

  uint64_t sequence() const override { return sequence_; }
  TimeUs now() const override { return now_; }
  bool EverTook(std::string_view stream) override {
    return !catalogue_.notes_.Fields(stream).empty();
  }
  bool IsEmpty(const TableInfo& table) override {
    const auto known = empty_.find(table.id);
    if (known != empty_.end()) return known->second;
    const Result<bool> holds = holds_row_(tables_.at(table.id));
    if (!holds && !failed_) failed_ = holds.error();
    return empty_[table.id] = holds && !*holds;
  }
  bool MayDrop(const TableInfo& table) override {
    return IsEmpty(table) && (!catalogue_.may_drop_ || catalogue_.may_drop_(table));
  }
  TimeUs EndOf(const TableInfo& table) override { return IsEmpty(table) ? 0 : kNeverWhole; }
  // Another daemon may have made a nightly table that the schema was composed without.
  bool MayOrphan(const TableInfo& table) override {
    return std::ranges::none_of(schema_.tables, [&](const Table& source) {
      return source.daily && source.daily->FindDay(table.name) && table.stream == source.stream &&
             table.row_key == source.row_key.text() && table.pattern == ToString(source.pattern);
    });
  }
  bool TookSince(const TableInfo& table, uint64_t) override { return EverTook(table.stream); }

  const std::optional<Error>& failed() const { return failed_; }

 private:
  const BigtableCatalogue& catalogue_;
  const HoldsRow& holds_row_;
  const Schema& schema_;
  const uint64_t sequence_;
  const TimeUs now_;
  std::map<TableId, TablePtr> tables_;
  std::map<TableId, bool> empty_;
  std::optional<Error> failed_;
};

BigtableCatalogue::BigtableCatalogue(BigtableClient* client, const Clock* clock, int64_t grain_us,
                                     MayDropTable may_drop)
    : client_(*client),
      clock_(*clock),
      grain_us_(grain_us),
      may_drop_(std::move(may_drop)),
      rows_(client) {}

Status BigtableCatalogue::Refresh(std::optional<SteadyTime> until) {
  const std::lock_guard changing(change_mutex_);
  return Look(until);
}

// One that is under way by now may have read before what is asked for was noted.
Status BigtableCatalogue::RefreshOnce(SteadyTime until) {
  const uint64_t begun = looks_;
  const std::lock_guard changing(change_mutex_);
  return last_good_look_ > begun ? Status() : Look(until);
}

Status BigtableCatalogue::Look(std::optional<SteadyTime> until) {
  const uint64_t number = ++looks_;
  Result<StoredSchema> read = ReadSchema(until);
  if (!read) return read.error();
  Take(std::move(*read));
  if (Status loaded = notes_.Load(&rows_, until); !loaded) return loaded;
  last_good_look_ = number;
  return {};
}

void BigtableCatalogue::Compare() {
  is_foreign_ = !own_print_.all.empty() && print_.all != own_print_.all;
  differing_ = DifferingStreams(own_print_, print_);
}

std::string BigtableCatalogue::WhyForeign() const {
  constexpr size_t kToldStreams = 10;
  const std::lock_guard lock(mutex_);
  if (!is_foreign_) return "";
  constexpr std::string_view kTold = "another daemon took another file";
  if (differing_.empty()) return fmt::format("{}, with more streams", kTold);
  const std::span<const std::string> told =
      std::span(differing_).first(std::min(differing_.size(), kToldStreams));
  return fmt::format("{}: writes to streams that are others there are refused here ({}{})", kTold,
                     fmt::join(told, ", "), differing_.size() > told.size() ? ", ..." : "");
}

bool BigtableCatalogue::Differs(std::string_view stream) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::binary_search(differing_, stream);
}

uint64_t BigtableCatalogue::sequence() const {
  const std::lock_guard lock(mutex_);
  return 2 * number_ + 1;
}

Result<BigtableCatalogue::StoredSchema> BigtableCatalogue::ReadSchema(
    std::optional<SteadyTime> until) {
  Result<CatalogueCells> cells = rows_.Read(kSchemaRow, until);
  if (!cells) return cells.error();
  StoredSchema read;
  for (const auto& [qualifier, value] : *cells) {
    if (qualifier == kVersionColumn) {
      read.version = value;
      if (!ParseNumber(value.substr(0, value.find('-')), &read.number) ||
          read.number > kMostAdoptions) {
        return DamagedRow("its version");
      }
    } else if (qualifier == kPrintColumn) {
      read.print.all = value;
    } else if (qualifier.starts_with(kPrintColumns)) {
      read.print.streams[qualifier.substr(kPrintColumns.size())] = value;
    } else if (qualifier == kGenerationColumn) {
      if (!ParseNumber(value, &read.print.generation.emplace())) return DamagedRow("a generation");
    } else if (qualifier == kNextColumn) {
      if (!ParseNumber(value, &read.stored.next_table)) return DamagedRow("a number");
    } else if (qualifier.starts_with(kStreamColumns)) {
      Result<StoredStream> stream = DecodeStream(value);
      if (!stream) return DamagedRow("the stream " + qualifier);
      read.stored.streams[qualifier.substr(kStreamColumns.size())] = std::move(*stream);
    } else if (qualifier.starts_with(kTableColumns)) {
      TableId id = 0;
      Result<TableInfo> table = DecodeTable(value);
      if (!table || !ParseNumber(qualifier.substr(kTableColumns.size()), &id)) {
        return DamagedRow("the table " + qualifier);
      }
      table->id = id;
      read.stored.tables[id] = std::move(*table);
    }
  }
  std::set<std::string_view> names;
  for (const auto& [id, table] : read.stored.tables) {
    if (!names.insert(table.name).second) return DamagedRow("a table that is there twice");
  }
  // A number that was given is never given again.
  const auto& tables = read.stored.tables;
  const TableId last = tables.empty() ? 0 : tables.rbegin()->first;
  if (read.stored.next_table <= last) return DamagedRow("the next table's number");
  return read;
}

void BigtableCatalogue::Take(StoredSchema read) {
  {
    const std::lock_guard lock(mutex_);
    if (read.version == version_) return;
    version_ = read.version;
    number_ = read.number;
    print_ = read.print;
    Compare();
  }
  catalogue_.Reload(std::move(read.stored));
}

Result<bool> BigtableCatalogue::Replace(const StoredSchema& before, const Catalogue::Plan& plan,
                                        const FilePrint& print) {
  StoredSchema after;
  after.number = before.number + 1;
  after.version = VersionText(after.number);
  after.print = print;
  CatalogueCells cells;
  cells[std::string(kVersionColumn)] = after.version;
  cells[std::string(kPrintColumn)] = print.all;
  for (const auto& [name, hash] : print.streams) cells[std::string(kPrintColumns) + name] = hash;
  if (print.generation) {
    cells[std::string(kGenerationColumn)] = std::to_string(*print.generation);
  }
  cells[std::string(kNextColumn)] = std::to_string(plan.stored.next_table);
  for (const auto& [name, stream] : plan.stored.streams) {
    cells[std::string(kStreamColumns) + name] = EncodeStream(stream);
  }
  for (const auto& [id, table] : plan.stored.tables) {
    cells[std::string(kTableColumns) + std::to_string(id)] = EncodeTable(table);
  }
  const Result<bool> replaced = rows_.ReplaceSchema(before.version, cells);
  if (!replaced || !*replaced) return replaced;
  const std::lock_guard lock(mutex_);
  version_ = after.version;
  number_ = after.number;
  print_ = after.print;
  Compare();
  return true;
}

Status BigtableCatalogue::Adopt(const Schema& schema, const HoldsRow& holds_row) {
  const std::lock_guard changing(change_mutex_);
  for (const std::string_view own : {kCatalogueTable, kJournalTable}) {
    if (schema.FindTable(own) == nullptr) continue;
    return Invalid(
        fmt::format("tables.{}: this table is the engine's own on Bigtable; accepted: "
                    "another name",
                    own));
  }
  if (Status folded = CheckFolds(schema); !folded) return folded;
  const FilePrint print = PrintOfFile(schema);
  for (int i = 0; i < kTries; ++i) {
    const Result<bool> adopted = TryAdopt(schema, print, holds_row);
    if (!adopted) return adopted.error();
    if (!*adopted) continue;  // Another daemon was faster.
    const std::lock_guard lock(mutex_);
    own_print_ = print;
    Compare();
    return {};
  }
  return Overtaken();
}

// Whether the service has the aggregate families of the file is found out by its first such one.
Status BigtableCatalogue::CheckFolds(const Schema& schema) {
  for (const Table& table : schema.tables) {
    for (const Family& family : table.families) {
      if (!family.aggregate) continue;
      if (!folds_) {
        Result<FoldTraits> found = FindFoldTraits(&client_);
        if (!found) return found.error();
        folds_ = std::move(*found);
        takes_tokens_ = folds_->takes_tokens;
      }
      if (folds_->Has(*family.aggregate)) continue;
      return Invalid(fmt::format("tables.{}.families.{}.aggregate: {} has no families of {}{}",
                                 table.name, family.name, client_.instance_name(),
                                 ToString(*family.aggregate),
                                 folds_->why.empty() ? "" : ": " + folds_->why));
    }
  }
  return {};
}

Result<bool> BigtableCatalogue::TryAdopt(const Schema& wanted, const FilePrint& print,
                                         const HoldsRow& holds_row) {
  Result<StoredSchema> read = ReadSchema();
  if (!read) return read.error();
  Take(*read);
  const Schema schema = WithoutGone(wanted);
  if (Status newer = CheckGeneration(print, read->print); !newer) return newer.error();
  const bool is_noted = read->print.all == print.all &&
                        (!print.generation || read->print.generation == print.generation);
  if (!read->version.empty() && is_noted && catalogue_.AdoptUnchanged(schema)) return true;
  Past past(*this, holds_row, schema);
  Result<Catalogue::Plan> plan = catalogue_.PlanAdopt(schema, &past);
  if (past.failed()) return *past.failed();
  if (!plan) return plan.error();
  const std::vector<TableChange> changes = ChangesOf(schema, *plan);
  if (Status made = MakeTables(*plan, changes); !made) return made.error();
  FilePrint taken = print;
  if (!taken.generation) taken.generation = read->print.generation;
  const Result<bool> replaced = Replace(*read, *plan, taken);
  if (!replaced || !*replaced) return replaced;
  ForgetNotes(plan->dropped);
  catalogue_.Publish(std::move(*plan));
  Tighten(changes);
  return true;
}

// What stays of them, since the service is away by then, has its mark read at each look, and says
// nothing.
void BigtableCatalogue::ForgetNotes(const std::vector<TableId>& dropped) {
  std::vector<CatalogueEntry> gone;
  for (const TableId id : dropped) gone.push_back(notes_.Forget(id));
  if (gone.empty()) return;
  if (const Status done = rows_.Write(std::move(gone)); !done) {
    spdlog::warn("bigtable: {}", done.error().message());
  }
}

std::vector<BigtableCatalogue::TableChange> BigtableCatalogue::ChangesOf(
    const Schema& schema, const Catalogue::Plan& plan) const {
  std::map<TableId, TablePtr> before;
  for (const TablePtr& table : catalogue_.Tables()) before[table->id] = table;
  std::vector<TableChange> changes;
  for (const auto& [id, table] : plan.stored.tables) {
    if (schema.FindTable(table.name) == nullptr) continue;
    const auto known = before.find(id);
    if (known != before.end() && EncodeTable(*known->second) == EncodeTable(table)) continue;
    changes.push_back({table, known == before.end() ? nullptr : known->second});
  }
  return changes;
}

// The schema without nightly tables that another daemon has removed since it was composed.
Schema BigtableCatalogue::WithoutGone(Schema schema) const {
  std::erase_if(schema.tables, [this](const Table& table) {
    return table.nightly && catalogue_.Find(table.name) == nullptr;
  });
  return schema;
}

// Before they are in the catalogue: a crash in between leaves empty tables that nobody names, which
// the next adoption finds.
Status BigtableCatalogue::MakeTables(const Catalogue::Plan& plan,
                                     std::span<const TableChange> changes) {
  std::map<TableId, TablePtr> before;
  for (const TablePtr& table : catalogue_.Tables()) before[table->id] = table;
  for (const TableId id : plan.dropped) {
    if (Status removed = RemoveTable(&client_, before.at(id)->name); !removed) return removed;
  }
  for (const TableChange& change : changes) {
    const Status made =
        EnsureTable(&client_, change.table, change.before.get(), {grain_us_, false});
    if (!made) return made;
  }
  return {};
}

// Once the file counts. Where that cannot be done now more is kept than the file asks for, which is
// hidden from readers, and told as a drift.
void BigtableCatalogue::Tighten(std::span<const TableChange> changes) {
  for (const TableChange& change : changes) {
    const Status done = EnsureTable(&client_, change.table, change.before.get(), {grain_us_, true});
    if (done) continue;
    spdlog::warn("bigtable: garbage of table {} is collected as it was before: {}",
                 change.table.name, done.error().message());
  }
}

Status BigtableCatalogue::Change(const MakePlan& make_plan, const DoBefore& before) {
  const std::lock_guard changing(change_mutex_);
  for (int i = 0; i < kTries; ++i) {
    Result<StoredSchema> read = ReadSchema();
    if (!read) return read.error();
    Take(*read);
    Result<Catalogue::Plan> plan = make_plan();
    if (!plan) return plan.error();
    if (Status done = before(*plan); !done) return done;
    const Result<bool> replaced = Replace(*read, *plan, read->print);
    if (!replaced) return replaced.error();
    if (!*replaced) continue;
    ForgetNotes(plan->dropped);
    catalogue_.Publish(std::move(*plan));
    return {};
  }
  return Overtaken();
}

// The rows go with the last table that has them.
Status BigtableCatalogue::Drop(std::string_view name) {
  return Change([&] { return catalogue_.PlanDrop(name); },
                [&](const Catalogue::Plan& plan) {
                  const bool are_shared =
                      std::ranges::any_of(plan.stored.tables, [&](const auto& other) {
                        return NameBehind(other.second.name) == NameBehind(name);
                      });
                  return are_shared ? Status() : RemoveTable(&client_, name);
                });
}

Result<TablePtr> BigtableCatalogue::Stage(const Table& table) {
  const std::string name = StagedName(table.name);
  // Whoever makes it whole knows what it lacks: the past is not asked.
  const HoldsRow holds_some = [](const TablePtr&) -> Result<bool> { return true; };
  const Schema of_no_file;
  const auto make_plan = [&] {
    Past past(*this, holds_some, of_no_file);
    return catalogue_.PlanStage(table, &past);
  };
  const Status staged = Change(make_plan, [&](const Catalogue::Plan& plan) {
    const auto made = std::ranges::find(plan.stored.tables, name,
                                        [](const auto& each) { return each.second.name; });
    return EnsureTable(&client_, made->second, nullptr, {grain_us_});
  });
  if (staged) return catalogue_.Find(name);
  // It is not the file that would have to change.
  if (staged.error().code() != ErrorCode::kInvalid) return staged.error();
  return Error(ErrorCode::kConflict, staged.error().message());
}

Status BigtableCatalogue::Swap(const Table& table, TableId staged) {
  return Change([&] { return catalogue_.PlanSwap(table, staged); },
                [](const Catalogue::Plan&) { return Status(); });
}

}  // namespace tallyd
