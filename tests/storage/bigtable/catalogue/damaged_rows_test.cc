// What others, or accidents, left in the catalogue's table: a start and a write may fail by it, and
// say so, and nothing else.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}
  size_t UpTo(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

  std::string Of(std::string text) {
    static const std::string kOdd[] = {"",
                                       "-1",
                                       "18446744073709551615",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       std::string(300, '\xff'),
                                       std::string("\0 \0", 3)};
    switch (UpTo(4)) {
      case 0:
        return kOdd[UpTo(std::size(kOdd) - 1)];
      case 1:
        return text.substr(0, UpTo(text.size()));
      case 2:
        return text.insert(UpTo(text.size()), 1 + UpTo(8), static_cast<char>(UpTo(255)));
      default:
        for (size_t i = 0; i <= UpTo(3) && !text.empty(); ++i) {
          text[UpTo(text.size() - 1)] = static_cast<char>(UpTo(255));
        }
        return text;
    }
  }

 private:
  std::mt19937 random_;
};

class Daemon : public StoreVerbs {
 public:
  explicit Daemon(const BigtableService& service) {
    Result<std::unique_ptr<Store>> opened = service.OpenStore(clock);
    if (opened) store_ = std::move(*opened);
  }
  bool is_open() const { return store_ != nullptr; }
  Store& store() override { return *store_; }

 private:
  std::unique_ptr<Store> store_;
};

Schema SomeTables() {
  Schema schema = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("C")});
  schema.tables[0].families[0].max_age_us = kUsPerDay;
  schema.tables[2].families[0].aggregate = Aggregate::kSum;
  return schema;
}

// All that a daemon does with the catalogue, whatever becomes of it.
void Use(const BigtableService& service) {
  Daemon daemon(service);
  if (!daemon.is_open()) return;
  Schema other = SomeTables();
  other.tables[0].row_key = *RowKeyTemplate::Parse("{other}#{ts:ms}", "ts");
  for (const Schema& schema : {SomeTables(), other, SomeTables()}) {
    if (!daemon.store().Adopt(schema)) continue;
    auto batch = daemon.NewBatch();
    batch->AddField("s", "x", TypeBit(ValueType::kInt64));
    batch->NoteSpelling("s", "x");
    batch->AddMissed(*daemon.Find("H"), "y", kMissedInside);
    batch->PutMemo("memo", "1", NoteOrder::kAfter);
    for (const char* table : {"H", "L", "C"}) {
      daemon.Put(batch.get(), table, "r", daemon.clock.now, {{"A", "x", Value::Int(1)}});
    }
    if (!daemon.Commit(std::move(batch))) continue;
    for (const TablePtr& table : daemon.store().Tables()) (void)daemon.TryRead(table->name);
    (void)daemon.store().Fields("s");
    (void)daemon.store().MissedFields(*daemon.Find("H"));
    (void)daemon.store().Memos("", 10);
    Claiming& claims = *daemon.store().capabilities().claiming;
    const Claiming::Held claim{"key", "a"};
    (void)claims.Claim(claim);
    (void)claims.Keep({&claim, 1});
    (void)claims.SweepClaims();
    (void)daemon.store().State();
  }
}

TEST(DamagedRows, AreToldAndNeverBelieved) {
  spdlog::set_level(spdlog::level::off);
  const BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  Use(service);
  const std::vector<CatalogueRow> before = *rows.ReadRange({}, 0);
  ASSERT_GT(before.size(), 5u);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Damage damage(seed);
    std::vector<CatalogueEntry> entries;
    const size_t damaged = damage.UpTo(before.size() - 1);
    for (size_t i = 0; i < before.size(); ++i) {
      CatalogueEntry& entry = entries.emplace_back();
      entry.set_row_key(before[i].key);
      entry.add_mutations()->mutable_delete_from_row();
      size_t left = damage.UpTo(before[i].cells.size());
      for (const auto& [qualifier, value] : before[i].cells) {
        const bool is_it = i == damaged && left-- == 0;
        SetCatalogueCell(is_it && damage.UpTo(3) == 0 ? damage.Of(qualifier) : qualifier,
                         is_it ? damage.Of(value) : value, 0, &entry);
      }
    }
    ASSERT_TRUE(rows.Write(std::move(entries)));
    Use(service);
  }
}

}  // namespace
}  // namespace tallyd
