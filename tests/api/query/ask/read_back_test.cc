// Columns that values, or names of fields, make: what would come back as another event's is told by
// the answer.
#include "ingest/map/read_back.h"

#include <gtest/gtest.h>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class ReadBackTest : public QueryTest {
 protected:
  void BeginWith(const std::string& columns) {
    Begin(std::string(kMetric) + "columns = [" + columns + "]\n");
  }
  void ExpectTold() { ExpectPartial("host=a", "METRIC", "gives them back as others"); }
};

TEST_F(ReadBackTest, WhatReadsBackIsWhole) {
  BeginWith(R"({ family = "F", name = "{a}-{b}", value = "{v}|{w}" })");
  Take(EventAt(1, R"("a":"x","b":"y-z","v":1,"w":"a|b")"));
  Take(EventAt(2, R"("a":7,"b":0.5,"v":2,"w":"")"));
  ExpectWhole("host=a", "METRIC", 2);
}

TEST_F(ReadBackTest, ATextThatCanBeTakenApartInTwoWaysIsTold) {
  BeginWith(R"({ family = "F", name = "{a}-{b}", value = "{v}" })");
  Take(EventAt(1, R"("a":"x","b":"z","v":1)"));
  ExpectWhole("host=a", "METRIC", 1);
  Take(EventAt(2, R"("a":"x-y","b":"z","v":1)"));
  ExpectTold();
}

TEST_F(ReadBackTest, SoIsAValueThatCan) {
  BeginWith(R"({ family = "F", name = "c", value = "{v} {w}" })");
  Take(EventAt(1, R"("v":"x","w":"y")"));
  ExpectWhole("host=a", "METRIC", 1);
  Take(EventAt(2, R"("v":"x y","w":"z")"));
  ExpectTold();
}

TEST_F(ReadBackTest, AColumnThatTwoRulesMakeIsTold) {
  BeginWith(R"({ family = "F", name = "{a}", value = "{x}" },
               { family = "F", name = "{b}", value = "{y}" })");
  Take(EventAt(1, R"("a":"k","x":1)"));
  ExpectWhole("host=a", "METRIC", 1);
  Take(EventAt(2, R"("b":"k","y":2)"));
  ExpectTold();
}

TEST_F(ReadBackTest, SoIsOneThatATimeAndAValueMake) {
  BeginWith(R"({ family = "F", name = "{x}", value = "{y}" },
               { family = "F", name = "{ts:%H%M}", value = "{v}" })");
  Take(EventAt(1, R"("v":1)"));
  ExpectTold();
}

TEST_F(ReadBackTest, SoIsOneThatTwoFieldsMake) {
  BeginWith(R"({ family = "F", fields = ["a*"], name = "m_{field}" },
               { family = "F", fields = ["m_*"] })");
  Take(EventAt(1, R"("acpu":1)"));
  ExpectWhole("host=a", "METRIC", 1);
  Take(EventAt(2, R"("m_acpu":2)"));
  ExpectTold();
}

TEST_F(ReadBackTest, SoIsACompactNameBesideOneAsItIs) {
  BeginWith(R"({ family = "F", fields = ["x*"], names = "compact" },
               { family = "F", fields = ["X*"] })");
  Take(EventAt(1, R"("xa":1)"));
  ExpectTold();
}

}  // namespace
}  // namespace tallyd
