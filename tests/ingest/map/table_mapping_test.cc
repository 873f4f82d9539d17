#include "ingest/map/table_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/config.h"
#include "tests/ingest/schema_store.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// The mapping of one shape in the only table of a configuration.
class TableMappingTest : public testing::Test {
 protected:
  TableMapping Compile(const std::string& row_key, const std::string& columns,
                       std::vector<std::string> fields) {
    const std::string list = columns.empty() ? "" : "columns = [" + columns + "]\n";
    Result<Config> config =
        ParseConfig("[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"" +
                        row_key + "\"\nfamilies.f = {}\n" + list,
                    "test.toml");
    if (!config) throw std::runtime_error(config.error().message());
    schema_ = config->schema;
    store_ = std::make_unique<SchemaStore>(*schema_);
    const Table& table = schema_->tables[0];
    table_ = std::make_unique<MappedTable>(table, store_->FindTable("T"));
    shape_.fields = std::move(fields);
    return CompileTableMapping(*table_, shape_, {}, nullptr);
  }

 private:
  std::shared_ptr<const Schema> schema_;
  std::unique_ptr<SchemaStore> store_;
  std::unique_ptr<MappedTable> table_;
  Shape shape_;
};

TEST_F(TableMappingTest, AKeysPartsAreTextFieldsTimeAndName) {
  const TableMapping mapping = Compile("M-x{k}#{field}#{ts:day}", "", {"k", "v"});
  ASSERT_THAT(mapping.rows, SizeIs(1));
  const auto& key = mapping.rows[0].key;
  ASSERT_THAT(key, SizeIs(6));
  EXPECT_EQ(std::get<std::string>(key[0]), "M-x");
  EXPECT_EQ(std::get<FieldPart>(key[1]).field, 0u);
  EXPECT_EQ(std::get<std::string>(key[2]), "#");
  EXPECT_EQ(std::get<NamePart>(key[3]).name, "v");
  EXPECT_TRUE(std::holds_alternative<TimePart>(key[5]));
  EXPECT_EQ(mapping.time_value, std::nullopt);
}

TEST_F(TableMappingTest, ATimeWithoutASpecIsTheFieldWhereTheEventHasIt) {
  const TableMapping with = Compile("{k}#{ts}", "", {"ts", "k", "v"});
  EXPECT_EQ(std::get<FieldPart>(with.rows[0].key[2]).field, 0u);
  EXPECT_EQ(with.time_value, 0u);
  const TableMapping without = Compile("{k}#{ts}", "", {"k", "v"});
  EXPECT_TRUE(std::holds_alternative<TimePart>(without.rows[0].key[2]));
}

TEST_F(TableMappingTest, AdjacentConstantTextsAreOne) {
  const TableMapping mapping = Compile(
      "{k}#{ts:ms}", "{ family = \"f\", name = \"a-{field}-b\", value = \"{value}\" }", {"k", "v"});
  ASSERT_THAT(mapping.rows[0].cells, SizeIs(1));
  const CellMapping& cell = mapping.rows[0].cells[0];
  EXPECT_EQ(cell.name.constant(), "a-v-b");
  EXPECT_EQ(cell.kind, CellMapping::Kind::kField);
  EXPECT_EQ(cell.field, 1u);
  EXPECT_FALSE(mapping.rows[0].names_vary);
}

TEST_F(TableMappingTest, NamesThatHoldValuesKnowWhatOthersHaveTaken) {
  const TableMapping mapping = Compile("{k}#{ts:ms}",
                                       "{ family = \"f\", name = \"ID\", value = \"{id}\" },"
                                       "{ family = \"f\", name = \"{a}\", value = \"{v}\" },"
                                       "{ family = \"f\", name = \"{ts:%H%M}\", value = \"{v}\" }",
                                       {"k", "id", "a", "v"});
  ASSERT_THAT(mapping.rows[0].cells, SizeIs(3));
  EXPECT_TRUE(mapping.rows[0].names_vary);
  ASSERT_THAT(mapping.rows[0].cells[1].taken, SizeIs(1));
  EXPECT_EQ(mapping.rows[0].cells[1].taken[0].first, "ID");
  EXPECT_THAT(mapping.rows[0].cells[2].taken, SizeIs(0));
}

TEST_F(TableMappingTest, AMissingKeyFieldAndASharedColumnRefuseTheShape) {
  const TableMapping missing = Compile("{k}#{ts:ms}", "", {"v"});
  ASSERT_TRUE(missing.refused);
  EXPECT_EQ(missing.refused->field, "k");
  const TableMapping shared =
      Compile("{k}#{ts:ms}", "{ family = \"f\", names = \"compact\" }", {"k", "Bid", "BID"});
  ASSERT_TRUE(shared.refused);
  EXPECT_EQ(shared.refused->field, "BID");
  EXPECT_THAT(shared.refused->detail, HasSubstr("f:BID of T"));
}

}  // namespace
}  // namespace tallyd
