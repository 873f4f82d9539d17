#include "tests/storage/leveldb/random_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace tallyd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarks = "M";   // Where each batch leaves its number.
constexpr const char* kCapped = "C";  // It may take a few kilobytes.

// Tables without rules: what they answer is the same however often they are asked.
constexpr const char* kPlainTables[] = {"H", "L", "R"};
constexpr const char* kRuledTables[] = {"V", "U", "I", "SG"};

std::string TextOf(const Rows& rows) {
  std::string text;
  for (const auto& [key, cells] : rows) {
    text += "  " + ::testing::PrintToString(key) + ":";
    for (const auto& [name, value] : cells) text += " " + name + "=" + value;
    text += "\n";
  }
  return text;
}

// Each family keeps so many units.
Table Aged(Table table, const std::array<int64_t, 2>& units) {
  for (size_t i = 0; i < units.size(); ++i) {
    table.families[i].max_age_us = units[i] * RandomHistory::kUnit;
  }
  return table;
}

// Its families merge what is written to them; null: a plain one.
Table Folded(Table table, const std::array<std::optional<Aggregate>, 2>& kinds) {
  for (size_t i = 0; i < kinds.size(); ++i) table.families[i].aggregate = kinds[i];
  return table;
}

bool HasFailed() { return ::testing::Test::HasFailure(); }

bool IsSpared(const std::string& name) {
  return name == "LOCK" || name == "ballast" || name.starts_with("LOG");
}

}  // namespace

RandomHistory::RandomHistory(unsigned seed)
    : seed_(seed), random_(seed), memo_random_(seed), wide_random_(seed) {
  store_.clock.now = kStart;
  // Heads of a few batches.
  store_.config().write_buffer = 2u << 10;
  // Deletes of latest rows in pieces, or at once.
  if (OneIn(2)) store_.set_rows_at_once(Random(4));
  // Rows that are too wide for one block.
  if (wide_random_() % 4 != 0) {
    store_.set_block_columns(static_cast<uint32_t>(2 + wide_random_() % 12));
  }
  schema_ = MakeSchema(
      {MakeTable(kMarks), MakeTable("H"), MakeTable("L", Pattern::kLatest),
       MakeTable("R", Pattern::kLatest, true), Aged(MakeTable("LG", Pattern::kLatest), {6, 9}),
       Aged(MakeTable("RG", Pattern::kLatest, true), {4, 6}), MakeTable("V"), MakeTable("U"),
       MakeTable("I"), Folded(MakeTable("S"), {Aggregate::kSum, std::nullopt}),
       Folded(MakeTable("SM"), {Aggregate::kMin, Aggregate::kHll}),
       Folded(MakeTable("SG"), {Aggregate::kSum, Aggregate::kMax}), MakeTable(kCapped)});
  schema_.tables.back().max_bytes = (2 + wide_random_() % 5) << 10;
}

void RandomHistory::Run() {
  SCOPED_TRACE(fmt::format("seed {}", seed_));
  Reopen();
  for (step_ = 0; step_ < kSteps && !HasFailed(); ++step_) Step();
  if (HasFailed()) return;
  CheckAll();
  if (OneIn(2)) FlipBits();
  Reopen();
  if (HasFailed()) return;
  EXPECT_TRUE(store_.store().Settle());
  CheckAll();
}

void RandomHistory::Step() {
  SCOPED_TRACE(fmt::format("step {}", step_));
  switch (Random(40)) {
    case 0:
    case 1:
      Reopen();
      break;
    case 2:
      CutPower();
      break;
    case 3:
    case 4:
    case 5:
      EXPECT_TRUE(store_.store().Settle());
      break;
    case 6:
    case 7:
    case 8:
      MoveClock();
      break;
    case 9:
      if (OneIn(3)) DropAndMakeAnew();
      break;
    default:
      Write();
  }
  if (!HasFailed()) CheckSome();
}

// ---- What happens to the store ----

void RandomHistory::Write() {
  const Ops ops = RandomOps();
  ++batches_;
  const Status committed = Commit(&store_, ops);
  ASSERT_TRUE(committed) << committed.error().message();
  CommitToModel(ops);
}

Status RandomHistory::Commit(StoreVerbs* store, const Ops& ops) {
  auto batch = store->NewBatch();
  for (const Op& op : ops) {
    if (!op.memo.empty()) {
      op.memo_value.empty() ? batch->DropMemo(op.memo)
                            : batch->PutMemo(op.memo, op.memo_value, NoteOrder::kBefore);
      continue;
    }
    if (!op.forget) {
      store->Put(batch.get(), op.table, op.row, op.time, op.cells, op.by_set);
      continue;
    }
    DeleteSpec what = *op.forget;
    if (!op.forget_family.empty()) {
      what.family = store->Find(op.table)->FindFamily(op.forget_family);
    }
    store->Delete(batch.get(), op.table, what);
  }
  const Value number = Value::Int(static_cast<int64_t>(batches_));
  store->Put(batch.get(), kMarks, "last", 0, {{"A", "batch", number}});
  return store->Commit(std::move(batch));
}

void RandomHistory::CommitToModel(const Ops& ops) {
  ASSERT_TRUE(Commit(&model_, ops));
  model_.model().Expire(retention_);
  written_.emplace(kMarks, "last", "A:batch@0", std::to_string(batches_));
  for (const Op& op : ops) {
    for (const TestCell& cell : op.cells) {
      const std::string name = cell.family + ":" + cell.qualifier + "@" + std::to_string(op.time);
      if (!cell.value.is_null()) written_.emplace(op.table, op.row, name, ToText(cell.value));
    }
  }
}

void RandomHistory::MoveClock() {
  constexpr int64_t kJump = 400 * kUsPerDay;
  switch (Random(8)) {
    case 0:
      store_.clock.now += kJump;
      break;
    case 1:
      store_.clock.now -= Now() > kStart + kJump ? kJump : 5 * kUnit;
      break;
    case 2:
      if (OneIn(4)) {
        EXPECT_TRUE(store_.store().TrustClock());
      }
      break;
    default:
      store_.clock.Pass(static_cast<int64_t>(1 + Random(3)) * kUnit);
  }
  NoteRetention();
}

// What has expired by the retention clock may be gone from now on.
void RandomHistory::NoteRetention() {
  retention_ = std::max(retention_, store_.store().RetentionNow());
  model_.model().Expire(retention_);
}

// What the table says that it may lack is looked at after it was read.
void RandomHistory::NoteCap() {
  const TablePtr table = store_.Find(kCapped);
  if (table) model_.model().LetGo(kCapped, table->families.front().whole_from);
}

void RandomHistory::Reopen() {
  store_.config().seal_window_us = static_cast<int64_t>(1 + Random(9)) * kUnit;
  if (OneIn(4)) store_.config().seal_window_us = 1;
  for (Table& table : schema_.tables) {
    const bool ruled = std::find(std::begin(kRuledTables), std::end(kRuledTables), table.name) !=
                       std::end(kRuledTables);
    if (!ruled || (step_ > 0 && !OneIn(4))) continue;
    for (Family& family : table.families) {
      const std::optional<Aggregate> kind = family.aggregate;
      family = RandomRules(family.name);
      family.aggregate = kind;
      if (table.name == "V") family.max_age_us.reset();
      family.expire_by_both = table.name == "I";
    }
  }
  store_.Open();
  if (HasFailed()) return;
  NoteRetention();
  AdoptSchema();
}

void RandomHistory::AdoptSchema() {
  for (const Status& adopted : {store_.Adopt(schema_), model_.store().Adopt(schema_)}) {
    ASSERT_TRUE(adopted) << adopted.error().message();
  }
  NoteRetention();
}

void RandomHistory::DropAndMakeAnew() {
  const Schema all = schema_;
  const std::string dropped = schema_.tables[1 + Random(schema_.tables.size() - 1)].name;
  std::erase_if(schema_.tables, [&](const Table& table) { return table.name == dropped; });
  AdoptSchema();
  EXPECT_TRUE(store_.store().DropTable(dropped));
  EXPECT_TRUE(model_.store().DropTable(dropped));
  schema_ = all;
  AdoptSchema();
}

// The power goes during one of the next calls to the disk. The batch that was not acknowledged may
// be there or not, whole.
void RandomHistory::CutPower() {
  env_.CutAt(env_.calls() + 1 + Random(25));
  std::optional<Ops> unanswered;
  for (int i = 0; i < 8 && !unanswered; ++i) {
    const Ops ops = RandomOps();
    ++batches_;
    if (Commit(&store_, ops)) {
      CommitToModel(ops);
    } else {
      unanswered = ops;
    }
  }
  store_.Close();
  env_.LosePower(static_cast<Loss>(Random(4)), static_cast<unsigned>(random_()));
  Reopen();
  if (HasFailed()) return;
  const uint64_t last = LastBatch(&store_);
  if (unanswered && last == batches_) CommitToModel(*unanswered);
  if (unanswered && last + 1 == batches_) --batches_;
  EXPECT_EQ(LastBatch(&store_), batches_) << "nothing acknowledged is lost";
}

uint64_t RandomHistory::LastBatch(StoreHarness* store) {
  const Rows marks = store->Read(kMarks);
  return marks.empty() ? 0 : std::stoull(marks[0].second.at("A:batch@0"));
}

// ---- What is compared ----

void RandomHistory::CheckSome() {
  for (int i = 0; i < 3 && !HasFailed(); ++i) {
    Check(schema_.tables[Random(schema_.tables.size())].name, RandomSpec());
  }
  if (OneIn(4)) CheckSkipping(kPlainTables[Random(3)]);
  if (OneIn(4)) CheckKeysOnly(kPlainTables[Random(3)]);
  const std::string key = RandomMemoKey();
  const Result<std::optional<std::string>> memo = store_.store().FindMemo(key);
  ASSERT_TRUE(memo) << memo.error().message();
  EXPECT_EQ(*memo, *model_.store().FindMemo(key));
}

void RandomHistory::CheckAll() {
  for (const Table& table : schema_.tables) {
    ScanSpec spec;
    spec.now = Now();
    Check(table.name, spec);
  }
  const Result<std::vector<Memo>> memos = store_.store().Memos({}, SIZE_MAX);
  ASSERT_TRUE(memos) << memos.error().message();
  EXPECT_EQ(*memos, *model_.store().Memos({}, SIZE_MAX));
}

void RandomHistory::Check(const std::string& table, const ScanSpec& spec) {
  const Result<Rows> rows = store_.TryRead(table, spec);
  ASSERT_TRUE(rows) << table << ": " << rows.error().message();
  NoteCap();
  ASSERT_TRUE(model_.model().Accepts(table, spec, *rows)) << Describe(table, spec) << "rows are:\n"
                                                          << TextOf(*rows);
  ScanSpec forward = spec;
  forward.reverse = false;
  const Result<Rows> runs = store_.TryReadRuns(table, forward);
  ASSERT_TRUE(runs) << table << ": " << runs.error().message();
  NoteCap();
  ASSERT_TRUE(model_.model().Accepts(table, forward, *runs))
      << Describe(table, forward) << "runs are:\n"
      << TextOf(*runs);
}

std::string RandomHistory::Describe(const std::string& table, const ScanSpec& spec) {
  std::string text = fmt::format(
      "table {}: now {}, retention {}, cells [{}, {}), versions {}, "
      "limit {}{}, ranges",
      table, spec.now, retention_, spec.cells.from, spec.cells.to, spec.versions, spec.limit,
      spec.reverse ? ", reverse" : "");
  for (const KeyRange& range : spec.ranges)
    text += " " + ::testing::PrintToString(std::pair(range.start, range.end));
  for (const ColumnPattern& p : spec.columns) text += fmt::format(" {}:{}", p.family, p.qualifier);
  for (const Family& family : schema_.FindTable(table)->families) {
    text += fmt::format(" {}: age {} versions {}", family.name, family.max_age_us.value_or(0),
                        family.max_versions.value_or(0));
  }
  return text + "\nthe model has:\n" + TextOf(model_.Read(table, spec));
}

void RandomHistory::CheckSkipping(const std::string& table) {
  ScanSpec spec = RandomSpec();
  spec.limit = 0;  // It counts rows that are returned, and skipped ones are not.
  Rows left = store_.Read(table, spec);
  const auto scan = store_.store().Scan(store_.Find(table), spec);
  while (true) {
    if (OneIn(2)) {
      const std::string target = RandomRow();
      scan->SkipTo(target);
      std::erase_if(left, [&](const auto& row) {
        return spec.reverse ? row.first > target : row.first < target;
      });
    }
    const Result<bool> more = scan->Next();
    ASSERT_TRUE(more);
    ASSERT_EQ(*more, !left.empty());
    if (!*more) return;
    ASSERT_EQ(scan->row().key, left.front().first);
    left.erase(left.begin());
  }
}

void RandomHistory::CheckKeysOnly(const std::string& table) {
  ScanSpec spec = RandomSpec();
  spec.versions = 0;
  Rows expected = store_.Read(table, spec);
  for (auto& [key, cells] : expected) {
    const auto time_of = [](const auto& cell) {
      return std::stoll(cell.first.substr(cell.first.find('@') + 1));
    };
    TimeUs newest = 0;
    for (const auto& cell : cells) newest = std::max<TimeUs>(newest, time_of(cell));
    std::erase_if(cells, [&](const auto& cell) { return time_of(cell) < newest; });
  }
  spec.keys_only = true;
  EXPECT_EQ(store_.Read(table, spec), expected);
}

// ---- Damage ----

// A bit of a copy of the store is flipped: what is then read is right, or is an error, or lacks
// what the store tells that it lacks.
void RandomHistory::FlipBits() {
  store_.Close();
  const fs::path sound = store_.config().path;
  const fs::path damaged = store_.path() + "/damaged";
  std::vector<fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(sound)) {
    const bool spared = !file.is_regular_file() || IsSpared(file.path().filename());
    if (!spared && file.file_size() > 0) files.push_back(file.path().lexically_relative(sound));
  }
  std::sort(files.begin(), files.end());
  for (int i = 0; i < 3 && !HasFailed(); ++i) {
    fs::remove_all(damaged);
    fs::copy(sound, damaged, fs::copy_options::recursive);
    const fs::path& file = files[Random(files.size())];
    const auto at = static_cast<std::streamoff>(Random(fs::file_size(sound / file)));
    const auto bit = Random(8);
    std::fstream bytes(damaged / file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const auto flipped = static_cast<char>(bytes.get() ^ (1 << bit));
    bytes.seekp(at);
    bytes.put(flipped);
    bytes.close();
    CheckDamaged(damaged, fmt::format("bit {} of byte {} of {} is flipped", bit, int64_t{at},
                                      file.string()));
  }
}

void RandomHistory::CheckDamaged(const std::string& path, const std::string& what) {
  SCOPED_TRACE(what);
  StoreHarness damaged;
  damaged.config() = store_.config();
  damaged.config().path = path;
  damaged.clock.now = Now();
  damaged.clock.steady = store_.clock.SteadyUs();
  if (!damaged.TryOpen()) return;
  if (!damaged.Adopt(schema_)) return;
  for (int look = 0; look < 2; ++look) {
    const bool told = !damaged.CutTails().empty();
    for (const Table& table : schema_.tables) {
      ScanSpec spec;
      spec.now = Now();
      const Result<Rows> rows = damaged.TryRead(table.name, spec);
      if (!rows) continue;
      if (const TablePtr capped = damaged.Find(kCapped)) {
        model_.model().LetGo(kCapped, capped->families.front().whole_from);
      }
      const bool right = model_.model().Accepts(table.name, spec, *rows);
      EXPECT_TRUE(right || (told && WasWritten(table.name, *rows)))
          << (told ? "a tail was cut, and told; " : "") << Describe(table.name, spec) << "look "
          << look << ", rows are:\n"
          << TextOf(*rows);
    }
    // Damage must not spread by what is written anew.
    const Status settled = damaged.store().Settle();
    static_cast<void>(settled);
  }
}

// What a cut tail leaves of a sum was never written by itself.
bool RandomHistory::WasWritten(const std::string& table, const Rows& rows) const {
  if (table.starts_with("S")) return true;
  for (const auto& [key, cells] : rows) {
    for (const auto& [name, value] : cells) {
      if (!written_.contains({table, key, name, value})) return false;
    }
  }
  return true;
}

}  // namespace tallyd
