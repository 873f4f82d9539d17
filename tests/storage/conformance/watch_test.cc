// Writing what was read elsewhere: not over what came meanwhile.
#include "storage/batch.h"
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

constexpr TimeUs kBefore = 1000;

class Reader {
 public:
  explicit Reader(StoreVerbs* verbs, const std::string& table = "H")
      : verbs_(*verbs),
        table_(table),
        watch_(verbs->store().WatchRows(*verbs->Find(table), kBefore)) {}

  // Writes 2 to A:x, as though it had been read when the watch was restarted.
  Status Write(const std::string& row, TimeUs time) {
    auto batch = verbs_.NewBatch();
    verbs_.Put(batch.get(), table_, row, time, {{"A", "x", Value::Int(2)}});
    return verbs_.store().CommitUnlessTouched(std::move(batch), watch_);
  }
  void Restart() { watch_->Restart(); }

 private:
  StoreVerbs& verbs_;
  const std::string table_;
  const std::shared_ptr<RowWatch> watch_;
};

bool IsConflict(const Status& status) {
  return !status && status.error().code() == ErrorCode::kConflict;
}

TEST_P(Conformance, WhatCameMeanwhileIsNotWrittenOver) {
  NEEDS_CAPABILITY(watching);
  Reader reader(this);
  WriteRows("H", {"r"}, 5);
  EXPECT_TRUE(IsConflict(reader.Write("r", 5)));
  EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@5", "1"}}}}));
  reader.Restart();
  EXPECT_TRUE(reader.Write("r", 5));
  EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@5", "2"}}}}));
}

TEST_P(Conformance, OtherRowsTimesAndTablesDoNotMatter) {
  NEEDS_CAPABILITY(watching);
  Reader reader(this);
  WriteRows("H", {"other"}, 5);
  WriteRows("H", {"r"}, 6);
  WriteRows("H", {"r"}, kBefore);
  WriteRows("L", {"r"}, 5);
  EXPECT_TRUE(reader.Write("r", 5));
}

TEST_P(Conformance, TheSameHoldsInLatestTables) {
  NEEDS_CAPABILITY(watching);
  Reader reader(this, "L");
  WriteRows("L", {"r"}, 5);
  EXPECT_TRUE(reader.Write("r", 4));
  EXPECT_TRUE(IsConflict(reader.Write("r", 5)));
  EXPECT_EQ(Read("L"), (Rows{{"r", {{"A:x@5", "1"}}}}));
}

TEST_P(Conformance, ItsOwnWritesAreNotInItsWay) {
  NEEDS_CAPABILITY(watching);
  Reader reader(this);
  EXPECT_TRUE(reader.Write("r", 5));
  EXPECT_TRUE(reader.Write("r", 5));
}

TEST_P(Conformance, WhatWasDeletedMeanwhileIsNotBroughtBack) {
  NEEDS_CAPABILITY(watching);
  Reader reader(this);
  ASSERT_TRUE(Erase("H", RowDelete("q", "s")));
  EXPECT_TRUE(IsConflict(reader.Write("r", 5)));
  reader.Restart();
  EXPECT_TRUE(reader.Write("r", 5));
}

}  // namespace
}  // namespace tallyd
