#include "storage/bigtable/catalogue/field_notes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

TEST(FieldNotes, AreKnownToWhoeverReadsThem) {
  const BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  ASSERT_TRUE(rows.Open());
  BigtableBatch::Notes notes;
  notes.fields[{"s", "LOAD"}] = TypeBit(ValueType::kInt64) | TypeBit(ValueType::kString);
  notes.fields[{"s", std::string("a\0b", 3)}] = TypeBit(ValueType::kBool);
  notes.spellings.emplace_back("s", "Bid size");
  notes.missed[{7, "LOAD"}] = kMissedInside;
  FieldNotes ours;
  const auto entries = ours.EntriesOf(notes, 5, 1'000'000);
  ASSERT_TRUE(rows.Write(entries));
  ours.Learn(entries);
  FieldNotes others;
  ASSERT_TRUE(others.Load(&rows));
  for (const FieldNotes* known : std::initializer_list<const FieldNotes*>{&ours, &others}) {
    const std::vector<FieldInfo> fields = known->Fields("s");
    ASSERT_EQ(fields.size(), 3u);
    EXPECT_EQ(fields[0].name, "Bid size");
    EXPECT_GT(fields[0].spelled, 0u);
    EXPECT_EQ(fields[1].name, "LOAD");
    EXPECT_EQ(fields[1].type_bits, TypeBit(ValueType::kInt64) | TypeBit(ValueType::kString));
    EXPECT_EQ(fields[2].name, std::string_view("a\0b", 3));
    ASSERT_EQ(known->Missed(7).size(), 1u);
    EXPECT_EQ(known->Missed(7)[0].how, kMissedInside);
    EXPECT_EQ(known->Missed(7)[0].sequence, 5u);
  }
}

TEST(FieldNotes, ANumberThatNobodyCanHaveGivenSaysNothing) {
  const BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  ASSERT_TRUE(rows.Open());
  std::vector<CatalogueEntry> odd(1);
  odd[0].set_row_key("f/s");
  SetCatalogueCell(kChangedColumn, "0123456789abcdef", 0, &odd[0]);
  SetCatalogueCell(std::string("LOAD\0s", 6), "18446744073709551614", 0, &odd[0]);
  ASSERT_TRUE(rows.Write(odd));
  FieldNotes notes;
  ASSERT_TRUE(notes.Load(&rows));
  BigtableBatch::Notes batch;
  batch.spellings.emplace_back("s", "Load");
  const auto entries = notes.EntriesOf(batch, 5, 1'000'000);
  EXPECT_TRUE(rows.Write(entries)) << "its time is one";
}

TEST(FieldNotes, OnlyRowsThatChangedAreReadAgain) {
  BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  ASSERT_TRUE(rows.Open());
  FieldNotes others;
  const auto note = [&](const std::string& stream, const std::string& field) {
    BigtableBatch::Notes notes;
    notes.fields[{stream, field}] = TypeBit(ValueType::kInt64);
    ASSERT_TRUE(rows.Write(others.EntriesOf(notes, 5, 0)));
  };
  note("many", "a");
  note("one", "a");
  FieldNotes ours;
  ASSERT_TRUE(ours.Load(&rows));
  const auto reads_of_a_load = [&] {
    service.server.faults().Forget();
    EXPECT_TRUE(ours.Load(&rows));
    return service.server.faults().Count("ReadRows");
  };
  EXPECT_EQ(reads_of_a_load(), 2u) << "one that asks what changed, of each kind";
  note("one", "b");
  EXPECT_EQ(reads_of_a_load(), 3u);
  EXPECT_EQ(ours.Fields("one").size(), 2u);
  EXPECT_EQ(ours.Fields("many").size(), 1u);
  EXPECT_EQ(reads_of_a_load(), 2u);
}

TEST(FieldNotes, WhatWasNotedBeforeThereWereMarksIsKnownFromTheFirstLookOn) {
  const BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  ASSERT_TRUE(rows.Open());
  std::vector<CatalogueEntry> old(2);
  old[0].set_row_key("f/s");
  SetCatalogueCell(std::string("LOAD\0001", 6), "", 0, &old[0]);
  old[1].set_row_key("m/7");
  SetCatalogueCell("1LOAD", "5", 0, &old[1]);
  ASSERT_TRUE(rows.Write(old));
  FieldNotes notes;
  ASSERT_TRUE(notes.Load(&rows));
  EXPECT_EQ(notes.Fields("s").size(), 1u);
  EXPECT_EQ(notes.Missed(7).size(), 1u);
}

TEST(FieldNotes, AFieldIsSeenThoughAnEarlierOneIsSentAgainBehindIt) {
  BigtableService service;
  const auto client = service.Connect();
  CatalogueRows rows(client.get());
  ASSERT_TRUE(rows.Open());
  FieldNotes ours;
  FieldNotes others;
  const auto note = [&](const std::string& field) {
    BigtableBatch::Notes notes;
    notes.fields[{"s", field}] = TypeBit(ValueType::kInt64);
    EXPECT_TRUE(rows.Write(others.EntriesOf(notes, 5, 0)));
  };
  std::atomic<int> tries = 0;
  service.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "Entry") return {};
    const int before = tries++;
    if (before == 0) {
      return {tablet::Outcome::kUnanswered, {grpc::StatusCode::UNAVAILABLE, "it is done"}};
    }
    if (before == 1) {
      EXPECT_TRUE(ours.Load(&rows));
      note("b");
    }
    return {};
  });
  note("a");
  ASSERT_EQ(tries, 3);
  ASSERT_TRUE(ours.Load(&rows));
  EXPECT_EQ(ours.Fields("s").size(), 2u);
}

TEST(FieldNotes, WriteWhatIsKnownOnce) {
  FieldNotes notes;
  BigtableBatch::Notes of_batch;
  of_batch.fields[{"s", "LOAD"}] = TypeBit(ValueType::kInt64);
  of_batch.missed[{7, "LOAD"}] = kMissedOutside;
  const auto entries = notes.EntriesOf(of_batch, 5, 0);
  EXPECT_EQ(entries.size(), 2u);
  notes.Learn(entries);
  EXPECT_TRUE(notes.EntriesOf(of_batch, 5, 0).empty());
  EXPECT_EQ(notes.EntriesOf(of_batch, 7, 0).size(), 1u) << "it was missed later, too";
}

}  // namespace
}  // namespace tallyd
