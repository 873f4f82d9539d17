#include "storage/scan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tallyd {
namespace {

// Engines that hold no columns side by side answer ScanRuns with it.
class TwoRows final : public RowScan {
 public:
  Result<bool> Next() override {
    row_.key = ++rows_ == 1 ? "a" : "b";
    return rows_ <= 2;
  }
  void SkipTo(std::string_view) override {}
  const Row& row() const override { return row_; }

 private:
  int rows_ = 0;
  Row row_;
};

TEST(RunsOfRowsTest, EveryRowComesByItself) {
  const std::unique_ptr<RunScan> runs = RunsOfRows(std::make_unique<TwoRows>());
  for (const std::string key : {"a", "b"}) {
    const Result<bool> more = runs->Next();
    ASSERT_TRUE(more && *more);
    EXPECT_EQ(runs->run(), nullptr);
    EXPECT_EQ(runs->row().key, key);
  }
  const Result<bool> more = runs->Next();
  EXPECT_TRUE(more && !*more);
}

}  // namespace
}  // namespace tallyd
