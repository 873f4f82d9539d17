#include "api/influx/query_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tallyd {
namespace {

using testing::ElementsAre;

constexpr InfluxStatement kCreate = InfluxStatement::kCreateDatabase;
constexpr InfluxStatement kShow = InfluxStatement::kShowDatabases;

std::vector<InfluxStatement> Statements(std::string_view text) {
  const Result<std::vector<InfluxStatement>> statements = ParseInfluxStatements(text);
  EXPECT_TRUE(statements) << statements.error().message();
  return statements ? *statements : std::vector<InfluxStatement>();
}

TEST(QueryStatementTest, ReadsWhatAgentsSend) {
  EXPECT_THAT(Statements("CREATE DATABASE \"telegraf\""), ElementsAre(kCreate));
  EXPECT_THAT(Statements("create database telegraf with duration 1d"), ElementsAre(kCreate));
  EXPECT_THAT(Statements("SHOW DATABASES;"), ElementsAre(kShow));
  EXPECT_THAT(Statements(" CREATE\tDATABASE \"a;b\\\"\" ; ;show databases"),
              ElementsAre(kCreate, kShow));
}

TEST(QueryStatementTest, RefusesAllElse) {
  for (const char* text : {"", ";", "CREATE DATABASE", "DROP DATABASE a", "SHOW DATABASES now",
                           "SHOW SERIES", "SELECT * FROM cpu", "CREATE DATABASE a; SELECT 1"}) {
    EXPECT_FALSE(ParseInfluxStatements(text)) << text;
  }
}

}  // namespace
}  // namespace tallyd
