#include "ingest/blob/blob.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "ingest/blob/measurements.pb.h"

namespace tallyd {
namespace {

constexpr Serialization kAll[] = {Serialization::kProtobuf, Serialization::kJson,
                                  Serialization::kCbor};

std::vector<BlobField> OneOfEach() {
  return {{"zero", Value::Int(0)},
          {"min", Value::Int(INT64_MIN)},
          {"max", Value::Int(INT64_MAX)},
          {"small", Value::Int(-25)},
          {"CPU/x", Value::Decimal(2, 2)},
          {"integral", Value::Double(2.0)},
          {"negative zero", Value::Double(-0.0)},
          {"tiny", Value::Double(5e-324)},
          {"huge", Value::Double(1.7976931348623157e308)},
          {"yes", Value::Bool(true)},
          {"no", Value::Bool(false)},
          {"empty", Value::String("")},
          {"\"quoted\\\n\x01", Value::String("é\"\\\n\t\x7f \U0001F600")},
          {"none", Value::Bytes("")},
          {"bytes", Value::Bytes(std::string_view("\x00\xff\x80 a", 5))}};
}

std::string Encode(Serialization how, std::span<const BlobField> fields) {
  std::string blob;
  EncodeBlob(how, fields, &blob);
  return blob;
}

TEST(BlobTest, EveryTypeComesBackExactly) {
  const std::vector<BlobField> fields = OneOfEach();
  for (const Serialization how : kAll) {
    const std::string blob = Encode(how, fields);
    std::string scratch;
    std::vector<BlobField> decoded;
    ASSERT_TRUE(DecodeBlob(how, blob, &scratch, &decoded)) << static_cast<int>(how);
    ASSERT_EQ(decoded.size(), fields.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      EXPECT_EQ(decoded[i].name, fields[i].name) << static_cast<int>(how);
      EXPECT_EQ(decoded[i].value, fields[i].value) << fields[i].name;
    }
  }
}

TEST(BlobTest, NoFieldsAreABlobToo) {
  for (const Serialization how : kAll) {
    std::string scratch;
    std::vector<BlobField> decoded;
    EXPECT_TRUE(DecodeBlob(how, Encode(how, {}), &scratch, &decoded));
    EXPECT_TRUE(decoded.empty());
  }
}

TEST(BlobTest, ProtobufIsWhatTheGeneratedClassWrites) {
  const std::vector<BlobField> fields = OneOfEach();
  Measurements message;
  for (const BlobField& field : fields) {
    Measurements::Field* out = message.add_field();
    out->set_name(std::string(field.name));
    switch (field.value.type()) {
      case ValueType::kInt64:
        out->set_int_(field.value.AsInt());
        break;
      case ValueType::kFloat64:
        out->set_float_(field.value.AsDouble());
        break;
      case ValueType::kBool:
        out->set_bool_(field.value.AsBool());
        break;
      case ValueType::kString:
        out->set_text(std::string(field.value.AsView()));
        break;
      default:
        out->set_bytes(std::string(field.value.AsView()));
    }
  }
  EXPECT_EQ(Encode(Serialization::kProtobuf, fields), message.SerializeAsString());
}

TEST(BlobTest, CborIsReadByAnotherLibrary) {
  const std::string blob = Encode(Serialization::kCbor, OneOfEach());
  const auto json = nlohmann::json::from_cbor(blob, true, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["min"], INT64_MIN);
  EXPECT_EQ(json["small"], -25);
  EXPECT_EQ(json["CPU/x"], 0.02);
  EXPECT_EQ(json["yes"], true);
  EXPECT_TRUE(json["bytes"].is_binary());
}

TEST(BlobTest, CborOfAnotherLibraryIsRead) {
  const nlohmann::json json = {{"a", 1.5}, {"b", 100000}, {"c", "x"}, {"d", nullptr}, {"e", -7}};
  const auto bytes = nlohmann::json::to_cbor(json);
  const std::string blob(bytes.begin(), bytes.end());
  std::string scratch;
  std::vector<BlobField> fields;
  ASSERT_TRUE(DecodeBlob(Serialization::kCbor, blob, &scratch, &fields));
  ASSERT_EQ(fields.size(), 5u);
  EXPECT_EQ(fields[0].value, Value::Double(1.5));  // Written as a single.
  EXPECT_EQ(fields[1].value, Value::Int(100000));
  EXPECT_EQ(fields[2].value, Value::String("x"));
  EXPECT_TRUE(fields[3].value.is_null());
  EXPECT_EQ(fields[4].value, Value::Int(-7));
}

TEST(BlobTest, JsonKeepsFloatsApartFromIntegers) {
  const std::vector<BlobField> fields = {
      {"i", Value::Int(2)}, {"f", Value::Double(2)}, {"e", Value::Double(1e300)}};
  EXPECT_EQ(Encode(Serialization::kJson, fields), R"({"i":2,"f":2.0,"e":1e+300})");
}

TEST(BlobTest, ViewsStayWhereScratchWasUsedBefore) {
  const std::vector<BlobField> fields = {{"a\n", Value::String("b\n")}};
  const std::string blob = Encode(Serialization::kJson, fields);
  std::string scratch = "before";
  std::vector<BlobField> decoded;
  ASSERT_TRUE(DecodeBlob(Serialization::kJson, blob, &scratch, &decoded));
  EXPECT_EQ(decoded[0].name, "a\n");
  EXPECT_EQ(decoded[0].value, Value::String("b\n"));
}

TEST(BlobTest, TruncatedBlobsAreNoBlobs) {
  for (const Serialization how : {Serialization::kJson, Serialization::kCbor}) {
    const std::string blob = Encode(how, OneOfEach());
    for (size_t size = 0; size < blob.size(); ++size) {
      std::string scratch;
      std::vector<BlobField> decoded;
      EXPECT_FALSE(DecodeBlob(how, std::string(blob, 0, size), &scratch, &decoded)) << size;
    }
  }
}

TEST(BlobTest, MutatedBlobsNeverBreakTheDecoder) {
  std::mt19937 random(7);
  for (const Serialization how : kAll) {
    const std::string good = Encode(how, OneOfEach());
    for (int round = 0; round < 5000; ++round) {
      std::string blob = good;
      for (int i = 0; i < 3; ++i) blob[random() % blob.size()] = static_cast<char>(random());
      blob.resize(blob.size() - random() % 3);
      std::string scratch;
      std::vector<BlobField> decoded;
      (void)DecodeBlob(how, blob, &scratch, &decoded).has_value();
    }
  }
}

}  // namespace
}  // namespace tallyd
