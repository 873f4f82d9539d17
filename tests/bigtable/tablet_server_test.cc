// What the tablet server does, asked over the wire. Where Google's emulator knows the same, it
// answers the same (emulator_test.cc); where it does not, what is known of the service holds.
#include "tests/bigtable/tablet/tablet_server.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/bigtable/tablet/stored_table.h"
#include "tests/bigtable/tablet/wire.h"
#include "tests/bigtable/tablet_client.h"

namespace tallyd::tablet {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server with table T of plain families A, B and aggregates SUM, MIN, MAX.
class TabletServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    admin::CreateTableRequest request;
    request.set_parent(kParent);
    request.set_table_id("T");
    auto& families = *request.mutable_table()->mutable_column_families();
    families["A"] = families["B"] = {};
    for (const std::string folding : {"SUM", "MIN", "MAX"}) {
      auto& aggregate = *families[folding].mutable_value_type()->mutable_aggregate_type();
      aggregate.mutable_input_type()->mutable_int64_type();
      if (folding == "SUM") aggregate.mutable_sum();
      if (folding == "MIN") aggregate.mutable_min();
      if (folding == "MAX") aggregate.mutable_max();
    }
    const grpc::Status made = client_.CreateTable(request);
    ASSERT_TRUE(made.ok()) << made.error_message();
  }

  grpc::Status Mutate(const std::string& row, const std::vector<v2::Mutation>& mutations,
                      const std::string& token = "") {
    return client_.Mutate(row, mutations, token);
  }
  grpc::Status Mutate(const std::string& row, const std::string& mutation) {
    return client_.Mutate(row, mutation);
  }
  std::vector<int> WriteRows(const std::vector<std::string>& rows, grpc::Status* status) {
    return client_.WriteRows(rows, status);
  }
  std::vector<std::string> Read(const std::string& request, grpc::Status* status = nullptr) {
    return client_.Read(request, status);
  }
  std::vector<std::string> ReadFiltered(const std::string& filter) {
    return Read("filter { " + filter + " }");
  }
  grpc::Status ReadStatus(const std::string& request) {
    grpc::Status status;
    Read(request, &status);
    return status;
  }

  TabletServer server_;
  TabletClient client_{server_.address()};
};

TEST_F(TabletServerTest, CellsOfARowComeByFamilyQualifierAndNewestFirst) {
  ASSERT_TRUE(Mutate("r", {Set("B", "b", 1000, "1"), Set("A", "b", 1000, "2"),
                           Set("A", "b", 2000, "3"), Set("A", "", 1000, "4")})
                  .ok());
  EXPECT_THAT(Read(""), ElementsAre("r A:@1000=4", "r A:b@2000=3", "r A:b@1000=2", "r B:b@1000=1"));
}

TEST_F(TabletServerTest, ALaterWriteToACellReplacesIt) {
  ASSERT_TRUE(Mutate("r", {Set("A", "q", 1000, "1")}).ok());
  ASSERT_TRUE(Mutate("r", {Set("A", "q", 1000, "2"), Set("A", "q", 1000, "3")}).ok());
  EXPECT_THAT(Read(""), ElementsAre("r A:q@1000=3"));
}

TEST_F(TabletServerTest, RangesMayOverlapAndEachRowComesOnce) {
  grpc::Status status;
  WriteRows({"a", "b", "c", "d"}, &status);
  EXPECT_THAT(Read(R"(rows { row_keys: "b" row_keys: "b" row_keys: "x"
                             row_ranges { start_key_closed: "b" end_key_open: "c" }
                             row_ranges { start_key_open: "c" end_key_closed: "d" } })"),
              ElementsAre("b A:q@1000=b", "d A:q@1000=d"));
  EXPECT_EQ(Read("rows {}").size(), 4u);
  EXPECT_EQ(Read("rows { row_ranges {} }").size(), 4u);
  EXPECT_EQ(Read(R"(rows { row_ranges { start_key_open: "" end_key_open: "" } })").size(), 4u);
  EXPECT_THAT(Read(R"(rows { row_ranges { end_key_closed: "" } })"), IsEmpty());
  EXPECT_THAT(Read("rows_limit: 1"), ElementsAre("a A:q@1000=a"));
  EXPECT_EQ(
      ReadStatus(R"(rows { row_ranges { start_key_closed: "b" end_key_open: "a" } })").error_code(),
      StatusCode::INVALID_ARGUMENT);
}

TEST_F(TabletServerTest, AReversedReadingBeginsAtTheLastRow) {
  grpc::Status status;
  WriteRows({"a", "b", "c", "d"}, &status);
  EXPECT_THAT(Read(R"(reversed: true rows_limit: 2
                      rows { row_ranges { end_key_open: "d" } })"),
              ElementsAre("c A:q@1000=c", "b A:q@1000=b"));
  client_.Read(Parse<v2::ReadRowsRequest>("reversed: true"), &status, false);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(TabletServerTest, FiltersLetThrough) {
  ASSERT_TRUE(Mutate("r1", {Set("A", "a", 1000, "v1"), Set("A", "a", 2000, "v2"),
                            Set("A", "b", 1000, "w"), Set("B", "a", 3000, "v3")})
                  .ok());
  ASSERT_TRUE(Mutate("r2", {Set("A", "c", 5000, "\xff")}).ok());
  struct Case {
    std::string filter;
    std::vector<std::string> cells;
  };
  const std::vector<Case> cases = {
      {"row_key_regex_filter: 'r[2-9]' ", {"r2 A:c@5000=\xff"}},
      {"family_name_regex_filter: 'B'", {"r1 B:a@3000=v3"}},
      {"column_qualifier_regex_filter: 'b|c'", {"r1 A:b@1000=w", "r2 A:c@5000=\xff"}},
      {"value_regex_filter: 'v'", {}},
      {"value_regex_filter: '\\\\C'", {"r1 A:b@1000=w", "r2 A:c@5000=\xff"}},
      {"value_regex_filter: '\\\\xff'", {"r2 A:c@5000=\xff"}},
      {"column_range_filter { family_name: 'A' start_qualifier_open: 'a' end_qualifier_open: 'c' }",
       {"r1 A:b@1000=w"}},
      {"value_range_filter { start_value_closed: 'v3' end_value_closed: 'w' }",
       {"r1 A:b@1000=w", "r1 B:a@3000=v3"}},
      {"timestamp_range_filter { start_timestamp_micros: 2000 end_timestamp_micros: 5000 }",
       {"r1 A:a@2000=v2", "r1 B:a@3000=v3"}},
      {"timestamp_range_filter { start_timestamp_micros: 5000 }", {"r2 A:c@5000=\xff"}},
      {"cells_per_row_offset_filter: 3", {"r1 B:a@3000=v3"}},
      {"cells_per_row_limit_filter: 1", {"r1 A:a@2000=v2", "r2 A:c@5000=\xff"}},
      {"cells_per_column_limit_filter: 1",
       {"r1 A:a@2000=v2", "r1 A:b@1000=w", "r1 B:a@3000=v3", "r2 A:c@5000=\xff"}},
      {"chain { filters { cells_per_row_limit_filter: 1 } filters { strip_value_transformer: true "
       "} }",
       {"r1 A:a@2000=", "r2 A:c@5000="}},
      {"interleave { filters { value_regex_filter: 'v2' } "
       "filters { cells_per_row_limit_filter: 1 } }",
       {"r1 A:a@2000=v2", "r1 A:a@2000=v2", "r2 A:c@5000=\xff"}},
      {"condition { predicate_filter { value_regex_filter: 'w' } "
       "true_filter { family_name_regex_filter: 'B' } }",
       {"r1 B:a@3000=v3"}},
      {"chain { filters { interleave { filters { chain { "
       "filters { value_regex_filter: 'v1' } filters { sink: true } } } "
       "filters { value_regex_filter: 'w' } } } filters { apply_label_transformer: 'l' } }",
       {"r1 A:a@1000=v1", "r1 A:b@1000=w l"}},
      {"block_all_filter: true", {}},
  };
  for (const Case& one : cases) EXPECT_EQ(ReadFiltered(one.filter), one.cells) << one.filter;
}

TEST_F(TabletServerTest, FiltersThatTheServiceRefusesAreRefused) {
  for (const char* filter :
       {"value_regex_filter: '('", "cells_per_row_limit_filter: 0", "pass_all_filter: false",
        "chain { filters { pass_all_filter: true } }", "row_sample_filter: 1",
        "timestamp_range_filter { start_timestamp_micros: 1 }", "column_range_filter {}",
        "apply_label_transformer: 'Upper'", "row_key_regex_filter: ''"}) {
    EXPECT_EQ(ReadStatus("filter { " + std::string(filter) + " }").error_code(),
              StatusCode::INVALID_ARGUMENT)
        << filter;
  }
  std::string deep = "pass_all_filter: true";
  for (int i = 0; i < 20; ++i) {
    deep = "chain { filters { " + deep + " } filters { pass_all_filter: true } }";
  }
  EXPECT_EQ(ReadStatus("filter { " + deep + " }").error_code(), StatusCode::INVALID_ARGUMENT);
  const std::string large(21'000, 'x');
  EXPECT_EQ(ReadStatus("filter { value_regex_filter: '" + large + "' }").error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(TabletServerTest, ARowChangesAsAWholeOrNotAtAll) {
  const grpc::Status refused = Mutate("r", {Set("A", "q", 1000, "1"), Set("X", "q", 1000, "2")});
  EXPECT_EQ(refused.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(refused.error_message(), HasSubstr("Requested column family not found"));
  EXPECT_THAT(Read(""), IsEmpty());
}

TEST_F(TabletServerTest, SizesAndTimesThatTheServiceRefusesAreRefused) {
  const auto code = [&](const std::string& row, const std::vector<v2::Mutation>& mutations) {
    return Mutate(row, mutations).error_code();
  };
  EXPECT_EQ(code("r", {Set("A", "q", 1001, "v")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("r", {Set("A", "q", -2, "v")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("", {Set("A", "q", 1000, "v")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(std::string(4097, 'k'), {Set("A", "q", 0, "v")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("r", {Set("A", std::string(16'385, 'q'), 0, "v")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("r", {}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code("r", std::vector<v2::Mutation>(100'001, Set("A", "q", 0, ""))),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(std::string(4096, 'k'), {Set("A", std::string(16'384, 'q'), -1, "v")}),
            StatusCode::OK);
}

TEST_F(TabletServerTest, ATableMayKeepMicroseconds) {
  EXPECT_FALSE(Mutate("r", {Set("A", "q", 1001, "v")}).ok());
  TabletServerOptions options;
  options.granularity_us = 1;
  TabletServer fine(options);
  TabletClient client(fine.address());
  ASSERT_TRUE(client
                  .CreateTable(Parse<admin::CreateTableRequest>(
                      R"(parent: "projects/p/instances/i" table_id: "T"
                         table { column_families { key: "A" value {} } })"))
                  .ok());
  ASSERT_TRUE(client.Mutate("r", {Set("A", "q", 1001, "v")}).ok());
  EXPECT_THAT(client.Read("filter { timestamp_range_filter { end_timestamp_micros: 1002 } }"),
              ElementsAre("r A:q@1001=v"));
}

TEST_F(TabletServerTest, DeletesTakeWhatTheyName) {
  const std::vector<v2::Mutation> cells = {Set("A", "a", 1000, "1"), Set("A", "a", 2000, "2"),
                                           Set("A", "b", 1000, "3"), Set("B", "c", 1000, "4")};
  ASSERT_TRUE(Mutate("r", cells).ok());
  ASSERT_TRUE(Mutate("r", R"(delete_from_column { family_name: "A" column_qualifier: "a"
                             time_range { end_timestamp_micros: 2000 } })")
                  .ok());
  EXPECT_THAT(Read(""), ElementsAre("r A:a@2000=2", "r A:b@1000=3", "r B:c@1000=4"));
  ASSERT_TRUE(Mutate("r", R"(delete_from_family { family_name: "A" })").ok());
  EXPECT_THAT(Read(""), ElementsAre("r B:c@1000=4"));
  ASSERT_TRUE(Mutate("r", "delete_from_row {}").ok());
  EXPECT_THAT(Read(""), IsEmpty());
  ASSERT_TRUE(Mutate("r", {Parse<v2::Mutation>("delete_from_row {}"), cells[0]}).ok());
  EXPECT_THAT(Read(""), ElementsAre("r A:a@1000=1"));
}

TEST_F(TabletServerTest, AggregatesFold) {
  for (const int64_t input : {5, -7, 3}) {
    ASSERT_TRUE(
        Mutate("r", {Add("SUM", 1000, input), Add("MIN", 1000, input), Add("MAX", 1000, input)})
            .ok());
  }
  const auto cell = [](const std::string& family, int64_t number) {
    return "r " + family + ":n@1000=" + PutInt64(number);
  };
  EXPECT_THAT(Read(""),
              ::testing::UnorderedElementsAre(cell("SUM", 1), cell("MIN", -7), cell("MAX", 5)));
  EXPECT_EQ(Mutate("r", {Set("SUM", "n", 1000, "x")}).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Mutate("r", {Add("A", 1000, 1)}).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(TabletServerTest, ATokenCountsOnceForAQuarterOfAnHour) {
  const std::string once = "r SUM:n@0=" + PutInt64(5);
  ASSERT_TRUE(Mutate("r", {Add("SUM", 0, 5)}, "token one").ok());
  ASSERT_TRUE(Mutate("r", {Add("SUM", 0, 5)}, "token one").ok());
  EXPECT_THAT(Read(""), ElementsAre(once));
  server_.PassUs(15 * 60 * int64_t{1'000'000});
  ASSERT_TRUE(Mutate("r", {Add("SUM", 0, 5)}, "token one").ok());
  EXPECT_THAT(Read(""), ElementsAre("r SUM:n@0=" + PutInt64(10)));
  EXPECT_EQ(Mutate("r", {Add("SUM", 0, 5)}, "short").error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(TabletServerTest, ACheckDecidesWhichMutationsAreMade) {
  v2::CheckAndMutateRowRequest request;
  request.set_table_name(kTable);
  request.set_row_key("r");
  *request.add_false_mutations() = Set("A", "claim", 1000, "mine");
  bool matched = true;
  ASSERT_TRUE(client_.CheckAndMutate(request, &matched).ok());
  EXPECT_FALSE(matched);
  ASSERT_TRUE(client_.CheckAndMutate(request, &matched).ok());
  EXPECT_TRUE(matched);
  request.mutable_predicate_filter()->set_value_regex_filter("yours");
  *request.mutable_false_mutations(0) = Set("A", "claim", 1000, "nobody's");
  ASSERT_TRUE(client_.CheckAndMutate(request, &matched).ok());
  EXPECT_FALSE(matched);
  EXPECT_THAT(Read(""), ElementsAre("r A:claim@1000=nobody's"));
  request.set_app_profile_id("multi-cluster");
  EXPECT_EQ(client_.CheckAndMutate(request, &matched).error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(TabletServerTest, AppendsAndIncrementsGoOnFromTheNewestCell) {
  ASSERT_TRUE(Mutate("r", {Set("A", "text", 1000, "old")}).ok());
  v2::ReadModifyWriteRowRequest request;
  request.set_table_name(kTable);
  request.set_row_key("r");
  *request.add_rules() = Parse<v2::ReadModifyWriteRule>(
      R"(family_name: "A" column_qualifier: "text" append_value: "+new")");
  *request.add_rules() = Parse<v2::ReadModifyWriteRule>(
      R"(family_name: "A" column_qualifier: "count" increment_amount: 7)");
  v2::Row row;
  ASSERT_TRUE(client_.ReadModifyWrite(request, &row).ok());
  const auto& columns = row.families(0).columns();
  ASSERT_EQ(columns.size(), 2);
  EXPECT_EQ(columns[0].cells(0).value(), PutInt64(7));
  EXPECT_EQ(columns[1].cells(0).value(), "old+new");
  EXPECT_EQ(ReadFiltered("column_qualifier_regex_filter: 'text'").size(), 2u);
}

TEST_F(TabletServerTest, GarbageGoesByTheFamilysRule) {
  ASSERT_TRUE(client_
                  .ModifyColumnFamilies(
                      R"(modifications { id: "A" update { gc_rule { union {
                         rules { max_num_versions: 2 } rules { max_age { seconds: 10 } } } } } })")
                  .ok());
  ASSERT_TRUE(Mutate("r", {Set("A", "a", 1'000'000, "1"), Set("A", "b", 19'000'000, "2"),
                           Set("A", "b", 18'000'000, "3"), Set("A", "b", 17'000'000, "4"),
                           Set("B", "c", 0, "5")})
                  .ok());
  server_.CollectGarbage(20'000'000);
  EXPECT_THAT(Read(""), ElementsAre("r A:b@19000000=2", "r A:b@18000000=3", "r B:c@0=5"));
}

TEST_F(TabletServerTest, FamiliesChangeAllOrNothing) {
  EXPECT_EQ(client_
                .ModifyColumnFamilies(R"(modifications { id: "C" create {} }
                                         modifications { id: "X" drop: true })")
                .error_code(),
            StatusCode::NOT_FOUND);
  EXPECT_EQ(Mutate("r", {Set("C", "q", 0, "v")}).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(TabletServerTest, APrefixIsDroppedAsAWhole) {
  grpc::Status status;
  WriteRows({"a", "b#1", "b#2", "c"}, &status);
  ASSERT_TRUE(client_.DropPrefix("b#").ok());
  EXPECT_THAT(Read(""), ElementsAre("a A:q@1000=a", "c A:q@1000=c"));
}

TEST_F(TabletServerTest, SamplesAreTheEndsOfTablets) {
  grpc::Status status;
  WriteRows({"a", "b", "c", "d", "e"}, &status);
  server_.SplitTablets(2);
  std::vector<std::string> keys;
  int64_t before = -1;
  for (const auto& [key, bytes] : client_.Samples()) {
    keys.push_back(key);
    EXPECT_GT(bytes, before);
    before = bytes;
  }
  EXPECT_THAT(keys, ElementsAre("c", "e", ""));
}

TEST_F(TabletServerTest, ARefusedCallDoesNothing) {
  FaultRates rates;
  rates.refused_calls = 1;
  server_.faults().Set(rates);
  EXPECT_FALSE(Mutate("r", {Set("A", "q", 0, "v")}).ok());
  server_.faults().Set({});
  EXPECT_THAT(Read(""), IsEmpty());
  EXPECT_EQ(server_.faults().Count("refused"), 1u);
}

TEST_F(TabletServerTest, AnUnansweredCallIsDoneAllTheSame) {
  FaultRates rates;
  rates.lost_answers = 1;
  server_.faults().Set(rates);
  EXPECT_FALSE(Mutate("r", {Set("A", "q", 0, "v")}).ok());
  server_.faults().Set({});
  EXPECT_THAT(Read(""), ElementsAre("r A:q@0=v"));
}

TEST_F(TabletServerTest, ATestDecidesOfEachEntry) {
  server_.faults().Script([](const Call& call) -> Verdict {
    const grpc::Status away(StatusCode::UNAVAILABLE, "away");
    if (call.row_key == "a") return {Outcome::kRefused, away};
    if (call.row_key == "b") return {Outcome::kUnanswered, away};
    return {};
  });
  grpc::Status status;
  EXPECT_THAT(WriteRows({"a", "b", "c"}, &status),
              ElementsAre(StatusCode::UNAVAILABLE, StatusCode::UNAVAILABLE, StatusCode::OK));
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(Read(""), ElementsAre("b A:q@1000=b", "c A:q@1000=c"));
}

TEST_F(TabletServerTest, AnswersOfEntriesMayBeMissing) {
  FaultRates rates;
  rates.missing_answers = 1;
  rates.odd_chunks = 1;
  server_.faults().Set(rates);
  grpc::Status status;
  const std::vector<int> codes = WriteRows({"a", "b", "c"}, &status);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(codes, ::testing::Contains(-1));
}

TEST_F(TabletServerTest, ABrokenStreamHasWholeRowsInOrderBeforeItsEnd) {
  std::vector<std::string> rows;
  for (int i = 100; i < 200; ++i) rows.push_back("r" + std::to_string(i));
  grpc::Status status;
  WriteRows(rows, &status);
  FaultRates rates;
  rates.broken_streams = 0.05;
  rates.odd_chunks = 0.5;
  server_.faults().Set(rates);
  int broken = 0;
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::string> cells = Read("", &status);
    broken += status.ok() ? 0 : 1;
    for (size_t at = 0; at < cells.size(); ++at) {
      EXPECT_EQ(cells[at], rows[at] + " A:q@1000=" + rows[at]);
    }
    EXPECT_TRUE(!status.ok() || cells.size() == rows.size());
  }
  EXPECT_GT(broken, 0);
}

TEST_F(TabletServerTest, OddChunksSayTheSame) {
  const std::vector<v2::Mutation> cells = {Set("A", "a", 1000, "a long value in many parts"),
                                           Set("A", "b", 1000, ""), Set("B", "c", 2000, "another")};
  for (const char* row : {"r", "s", "t"}) ASSERT_TRUE(Mutate(row, cells).ok());
  const std::vector<std::string> plain = Read("");
  FaultRates rates;
  rates.odd_chunks = 1;
  server_.faults().Set(rates);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Read(""), plain);
}

TEST_F(TabletServerTest, StoppedItIsAwayAndStartedItHasEverything) {
  ASSERT_TRUE(Mutate("r", {Set("A", "q", 0, "v")}).ok());
  server_.Stop();
  EXPECT_EQ(Mutate("r", {Set("A", "q", 0, "w")}).error_code(), StatusCode::UNAVAILABLE);
  ASSERT_TRUE(server_.Start());
  ASSERT_TRUE(client_.Await().ok());
  EXPECT_THAT(Read(""), ElementsAre("r A:q@0=v"));
}

}  // namespace
}  // namespace tallyd::tablet
