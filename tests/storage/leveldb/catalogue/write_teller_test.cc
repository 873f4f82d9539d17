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
    teller->Take(0, "b", Value::String(fields));
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
  teller.Take(0, "b", Value::Int(1));
  EXPECT_FALSE(teller.IsAnother());
}

TEST_F(WriteTellerTest, OtherNamesAreACorrectionThatCoversNothing) {
  const std::vector<Telling> named{
      {{0, ""}, Telling::By::kNames, Serialization::kNone, nullptr, {"ID"}}};
  EXPECT_TRUE(named[0].IsOf({0, "1"}));
  EXPECT_FALSE(named[0].IsOf({0, "ID"}));
  EXPECT_FALSE(named[0].IsOf({1, "1"}));
  WriteTeller teller(named);
  const auto write = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) teller.Take(0, name, Value::String(""));
    return teller.IsAnother();
  };
  teller.Begin();
  EXPECT_FALSE(write({"1", "2"}));
  EXPECT_FALSE(write({"2", "1"}));
  EXPECT_TRUE(write({"1", "3"}));
  teller.Begin();
  EXPECT_FALSE(write({"4"}));
}

}  // namespace
}  // namespace tallyd
