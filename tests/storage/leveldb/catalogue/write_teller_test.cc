#include "storage/leveldb/catalogue/write_teller.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

// A cell of which each byte is a field.
bool FieldPerByte(Serialization /*how*/, const Value& cell, std::vector<uint64_t>* names) {
  if (cell.type() != ValueType::kString) return false;
  for (const char c : cell.AsView()) names->push_back(static_cast<uint64_t>(c));
  return true;
}

class WriteTellerTest : public ::testing::Test {
 protected:
  bool Write(WriteTeller* teller, std::string_view fields) {
    teller->Take(0, Value::String(fields));
    return teller->IsAnother();
  }
  const std::vector<Telling> serialized_{
      {{0, "b"}, Telling::By::kFields, Serialization::kJson, &FieldPerByte}};
};

TEST_F(WriteTellerTest, AWriteOverOneWithOtherFieldsTookThem) {
  WriteTeller teller(serialized_);
  teller.Begin();
  EXPECT_FALSE(Write(&teller, "m"));
  EXPECT_TRUE(Write(&teller, "c"));
  EXPECT_TRUE(Write(&teller, "cm"));
  teller.Begin();
  EXPECT_FALSE(Write(&teller, "c"));
}

TEST_F(WriteTellerTest, AWriteThatHasAllFieldsOfTheOlderIsACorrection) {
  WriteTeller teller(serialized_);
  teller.Begin();
  EXPECT_FALSE(Write(&teller, "cm"));
  EXPECT_FALSE(Write(&teller, "mc"));
  EXPECT_FALSE(Write(&teller, "c"));
}

TEST_F(WriteTellerTest, ACellThatHoldsNoFieldsTellsNothing) {
  WriteTeller teller(serialized_);
  teller.Begin();
  EXPECT_FALSE(Write(&teller, "c"));
  teller.Take(0, Value::Int(1));
  EXPECT_FALSE(teller.IsAnother());
}

}  // namespace
}  // namespace tallyd
