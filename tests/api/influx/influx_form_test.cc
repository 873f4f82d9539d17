#include "api/influx/influx_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

using Header = std::pair<std::string, std::string>;

TEST(InfluxForm, NeverIsAStatusByWhichAgentsDropWhatMayBeSentAgain) {
  for (const unsigned status : {408u, 429u, 503u}) {
    for (const auto dialect : {InfluxDialect::kV1, InfluxDialect::kV2, InfluxDialect::kV3}) {
      const Response response = InInfluxForm(dialect, Problem(status, "again"));
      EXPECT_EQ(response.status, 503u) << status;
      EXPECT_EQ(std::ranges::count(response.headers, Header("Retry-After", "1")), 1) << status;
    }
  }
  EXPECT_EQ(InInfluxForm(InfluxDialect::kV2, Problem(408, "again")).body,
            "{\"code\":\"unavailable\",\"message\":\"again\"}\n");
}

TEST(InfluxForm, LeavesTheStatusOfWhatWouldBeRefusedAgain) {
  for (const unsigned status : {400u, 401u, 403u, 413u, 415u}) {
    EXPECT_EQ(InInfluxForm(InfluxDialect::kV1, Problem(status, "no")).status, status);
  }
}

}  // namespace
}  // namespace tallyd
