// The tablet server beside Google's emulator: what both know they answer alike, to random mutations
// and readings. Left out is what the emulator is known to do otherwise than the service: reverse
// scans, aggregates, counting cells of a row over several families, mutations of which one is bad.
//
// Needs an emulator: TALLYD_BIGTABLE_EMULATOR=127.0.0.1:PORT.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/bigtable/tablet/tablet_server.h"
#include "tests/bigtable/tablet_client.h"

namespace tallyd::tablet {
namespace {

constexpr int kRounds = 400;
constexpr int kReadings = 5;  // Of a round.

// Requests of a few rows, columns and times, so that they often meet.
class Requests {
 public:
  explicit Requests(unsigned seed) : random_(seed) {}

  size_t UpTo(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }
  std::string Row() { return std::string(1 + UpTo(1), static_cast<char>('a' + UpTo(5))); }
  std::string Family() { return UpTo(1) == 0 ? "A" : "B"; }
  std::string Qualifier() { return std::string(UpTo(2), static_cast<char>('p' + UpTo(2))); }
  int64_t TimeUs() { return static_cast<int64_t>(UpTo(6)) * 1000; }

  v2::Mutation Mutation() {
    v2::Mutation mutation;
    switch (UpTo(9)) {
      case 0:
        mutation.mutable_delete_from_row();
        break;
      case 1:
        mutation.mutable_delete_from_family()->set_family_name(Family());
        break;
      case 2:
      case 3: {
        auto& erase = *mutation.mutable_delete_from_column();
        erase.set_family_name(Family());
        erase.set_column_qualifier(Qualifier());
        if (UpTo(1) == 0) *erase.mutable_time_range() = Times();
        break;
      }
      default:
        return Set(Family(), Qualifier(), TimeUs(), std::string(UpTo(3), Letter()));
    }
    return mutation;
  }

  v2::ReadRowsRequest Reading() {
    v2::ReadRowsRequest request;
    for (size_t i = UpTo(2); i > 0; --i) *request.mutable_rows()->add_row_keys() = Row();
    for (size_t i = UpTo(2); i > 0; --i) *request.mutable_rows()->add_row_ranges() = Range();
    if (UpTo(2) == 0) request.set_rows_limit(static_cast<int64_t>(1 + UpTo(3)));
    if (UpTo(4) > 0) *request.mutable_filter() = Filter(2);
    return request;
  }

  v2::RowFilter Filter(size_t depth) {
    v2::RowFilter filter;
    if (depth > 0 && UpTo(2) == 0) return Nested(depth);
    static const std::array kPatterns = {"a|b", "p.*", ".", "[^p]+", "(?s).*", "\\C{2}"};
    const std::string pattern = kPatterns[UpTo(kPatterns.size() - 1)];
    switch (UpTo(8)) {
      case 0:
        filter.set_row_key_regex_filter(pattern);
        break;
      case 1:
        filter.set_family_name_regex_filter(UpTo(1) == 0 ? "A" : "A|B");
        break;
      case 2:
        filter.set_column_qualifier_regex_filter(pattern);
        break;
      case 3:
        filter.set_value_regex_filter(pattern);
        break;
      case 4: {
        auto& range = *filter.mutable_column_range_filter();
        range.set_family_name(Family());
        if (UpTo(1) == 0) range.set_start_qualifier_closed("p");
        if (UpTo(1) == 0) range.set_end_qualifier_open("q");
        break;
      }
      case 5:
        *filter.mutable_timestamp_range_filter() = Times();
        break;
      case 6:
        filter.set_cells_per_column_limit_filter(static_cast<int>(1 + UpTo(1)));
        break;
      case 7:
        filter.mutable_value_range_filter()->set_start_value_open("y");
        break;
      default:
        filter.set_strip_value_transformer(true);
        break;
    }
    return filter;
  }

 private:
  char Letter() { return static_cast<char>('x' + UpTo(2)); }

  v2::TimestampRange Times() {
    v2::TimestampRange range;
    range.set_start_timestamp_micros(TimeUs());
    if (UpTo(1) == 0) range.set_end_timestamp_micros(range.start_timestamp_micros() + 2000);
    return range;
  }

  v2::RowRange Range() {
    v2::RowRange range;
    if (UpTo(3) == 0) return range;
    const std::string from = Row();
    if (UpTo(1) == 0) {
      range.set_start_key_closed(from);
    } else {
      range.set_start_key_open(from);
    }
    if (UpTo(1) == 0) {
      range.set_end_key_open(from + "~");
    } else {
      range.set_end_key_closed(from + "c");
    }
    return range;
  }

  v2::RowFilter Nested(size_t depth) {
    v2::RowFilter filter;
    if (UpTo(2) == 0) {
      *filter.mutable_condition()->mutable_predicate_filter() = Filter(depth - 1);
      if (UpTo(1) == 0) *filter.mutable_condition()->mutable_true_filter() = Filter(depth - 1);
      if (UpTo(1) == 0) *filter.mutable_condition()->mutable_false_filter() = Filter(depth - 1);
    } else if (UpTo(1) == 0) {
      for (int i = 0; i < 2; ++i) *filter.mutable_chain()->add_filters() = Filter(depth - 1);
    } else {
      for (int i = 0; i < 2; ++i) *filter.mutable_interleave()->add_filters() = Filter(depth - 1);
    }
    return filter;
  }

  std::mt19937 random_;
};

// Families one after the other: cells come in the order in which they were made.
grpc::Status MakeTable(TabletClient* client) {
  const grpc::Status made = client->CreateTable(Parse<admin::CreateTableRequest>(
      R"(parent: "projects/p/instances/i" table_id: "T"
         table { column_families { key: "A" value {} } })"));
  if (!made.ok()) return made;
  return client->ModifyColumnFamilies(R"(modifications { id: "B" create {} })");
}

TEST(EmulatorTest, TheTabletServerAnswersAsGooglesEmulatorDoes) {
  const char* const address = std::getenv("TALLYD_BIGTABLE_EMULATOR");
  if (address == nullptr) GTEST_SKIP() << "TALLYD_BIGTABLE_EMULATOR names no emulator";
  TabletServer server;
  TabletClient ours(server.address());
  TabletClient theirs(address);
  (void)theirs.Await();  // Whatever it says.
  ASSERT_TRUE(MakeTable(&ours).ok());
  const grpc::Status made = MakeTable(&theirs);
  ASSERT_TRUE(made.ok()) << made.error_message();
  Requests requests(20'261'128);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<v2::Mutation> mutations;
    for (size_t i = 1 + requests.UpTo(3); i > 0; --i) mutations.push_back(requests.Mutation());
    const std::string row = requests.Row();
    const grpc::Status done = ours.Mutate(row, mutations);
    ASSERT_TRUE(done.ok()) << done.error_message();
    ASSERT_TRUE(theirs.Mutate(row, mutations).ok());
    for (int i = 0; i < kReadings; ++i) {
      const v2::ReadRowsRequest request = requests.Reading();
      grpc::Status our_status, their_status;
      const std::vector<std::string> our_cells = ours.Read(request, &our_status);
      const std::vector<std::string> their_cells = theirs.Read(request, &their_status);
      ASSERT_EQ(our_status.error_code(), their_status.error_code())
          << our_status.error_message() << "\n"
          << their_status.error_message() << "\n"
          << request.DebugString();
      ASSERT_EQ(our_cells, their_cells) << request.DebugString();
    }
  }
}

}  // namespace
}  // namespace tallyd::tablet
