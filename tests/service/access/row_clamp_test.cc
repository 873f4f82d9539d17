#include "service/access/row_clamp.h"

#include <gtest/gtest.h>

#include "config/values/value.h"

namespace tallyd {
namespace {

RowKeyTemplate KeyOf(const std::string& text) { return *RowKeyTemplate::Parse(text, "ts"); }

RowClamp ClampOf(const std::string& row_key, const Scope& scope) {
  return RowClamp(KeyOf(row_key), scope, TimeUnit::kMilliseconds);
}

RowClamp OfTenant(const std::string& row_key, const std::string& tenant = "acme") {
  return ClampOf(row_key, {{"tenant", tenant}});
}

// The key that an event of the tenant and host has.
std::string KeyWith(const std::string& row_key, const std::string& tenant,
                    const std::string& host = "h1") {
  const RowKeyTemplate parsed = KeyOf(row_key);
  std::string key;
  for (const Segment& segment : parsed.segments()) {
    if (segment.is_literal()) {
      key += segment.literal;
      continue;
    }
    const std::string& text = segment.field == "tenant" ? tenant : host;
    EXPECT_TRUE(parsed.AppendSegment(segment, Value::String(text), 1'500'000'000'000'000,
                                     TimeUnit::kMilliseconds, &key));
  }
  return key;
}

// Of each, where the tenant stands in it.
const char* const kShapes[] = {
    "{tenant}#{host}#{ts:ms}",
    "{ts:day}#{tenant}#{host}",
    "{host}#{tenant}#{ts:reverse(ms)}",
    "{tenant:salt(7)}#{tenant}#{ts:ms}",
    "{host:salt(5)}#{host}#{tenant}",
    "{tenant:pad(12)}{host}",
    "{tenant:reverse_domain}#{ts:%H%M}",
    "{host}/{tenant}",
    "{ts:ms}{tenant}",
};

bool Holds(const std::vector<KeyRange>& ranges, const std::string& key) {
  for (const KeyRange& range : ranges) {
    if (range.start <= key && (range.end.empty() || key < range.end)) return true;
  }
  return false;
}

TEST(RowClamp, AdmitsTheKeysOfItsTenantInEveryShape) {
  for (const char* const shape : kShapes) {
    const std::string key = KeyWith(shape, "acme");
    EXPECT_TRUE(OfTenant(shape).Admits(key)) << key;
    EXPECT_TRUE(Holds(OfTenant(shape).Within({KeyRange()}), key)) << key;
  }
}

TEST(RowClamp, RefusesEveryOtherTenant) {
  for (const char* const shape : kShapes) {
    for (const char* const other : {"acme2", "acm", "acme#", "Acme", "acme%", "acme/x", "emca"}) {
      EXPECT_FALSE(OfTenant(shape).Admits(KeyWith(shape, other))) << shape << ' ' << other;
      EXPECT_FALSE(OfTenant(shape, other).Admits(KeyWith(shape, "acme"))) << shape << ' ' << other;
    }
  }
}

TEST(RowClamp, AdmitsATenantWhoseNameHasToBeEscaped) {
  for (const char* const shape : kShapes) {
    for (const char* const name : {"a#b", "a%b", "a/b", "%23"}) {
      EXPECT_TRUE(OfTenant(shape, name).Admits(KeyWith(shape, name))) << shape << ' ' << name;
      EXPECT_FALSE(OfTenant(shape, name).Admits(KeyWith(shape, "a"))) << shape << ' ' << name;
    }
  }
}

TEST(RowClamp, RefusesAKeyThatTheTemplateCannotHaveMade) {
  const RowClamp clamp = OfTenant("{tenant}#{ts:ms}");
  for (const char* const key : {"", "acme", "acme#", "acme#x", "acme#15000000000000", "acm%65#1"}) {
    EXPECT_FALSE(clamp.Admits(key)) << key;
  }
}

TEST(RowClamp, ComparesValuesAsText) {
  EXPECT_TRUE(OfTenant("{tenant}#{host}", "1").Admits("1#h"));
  EXPECT_FALSE(OfTenant("{tenant}#{host}", "1").Admits("01#h"));
  EXPECT_FALSE(OfTenant("{tenant}#{host}", "1").Admits("1.0#h"));
  EXPECT_TRUE(OfTenant("{tenant}#{host}", "01").Admits("01#h"));
}

TEST(RowClamp, HasNoRowsOfAValueThatItsPlaceWritesAsAnother) {
  const RowClamp seven = OfTenant("{tenant:zero(4)}#{host}", "7");
  EXPECT_TRUE(seven.Admits("0007#h"));
  const RowClamp padded = OfTenant("{tenant:zero(4)}#{host}", "007");
  EXPECT_TRUE(padded.is_empty());
  EXPECT_FALSE(padded.Admits("0007#h"));
  EXPECT_TRUE(padded.Within({KeyRange()}).empty());
  EXPECT_TRUE(OfTenant("{tenant:pad(3)}#{host}", "acme").is_empty());
}

TEST(RowClamp, ChecksEveryPlaceOfTheField) {
  const RowClamp clamp = OfTenant("{tenant:salt(9)}#{tenant}#{host}#{tenant}");
  const std::string own = KeyWith("{tenant:salt(9)}#{tenant}#{host}#{tenant}", "acme");
  EXPECT_TRUE(clamp.Admits(own));
  EXPECT_FALSE(clamp.Admits(own + "2"));
  EXPECT_FALSE(clamp.Admits((own[0] == '1' ? "2" : "1") + own.substr(1)));
}

TEST(RowClamp, NeedsEveryFieldOfTheScope) {
  const Scope scope = {{"region", "eu"}, {"tenant", "acme"}};
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{tenant}#{ts:ms}"), scope));
  EXPECT_TRUE(RowClamp::IsHeldBy(KeyOf("{tenant}#{region}"), scope));
  const RowClamp clamp = ClampOf("{tenant}#{region}", scope);
  EXPECT_TRUE(clamp.Admits("acme#eu"));
  EXPECT_FALSE(clamp.Admits("acme#us"));
  EXPECT_FALSE(clamp.Admits("other#eu"));
}

TEST(RowClamp, IsHeldByNoKeyThatDoesNotGiveTheFieldBack) {
  const Scope tenant = {{"tenant", "acme"}};
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{tenant:salt(4)}#{host}"), tenant));
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{host}#{ts:ms}"), tenant));
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{tenant:day}#{host}"), tenant));
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{host}#{field}"), {{"field", "x"}}));
  EXPECT_FALSE(RowClamp::IsHeldBy(KeyOf("{host}#{ts:ms}"), {{"ts", "1"}}));
}

TEST(RowClamp, KeepsOfRangesWhatMayBeItsOwn) {
  const RowClamp clamp = OfTenant("{tenant}#{host}");
  EXPECT_EQ(clamp.Within({KeyRange()}), std::vector({KeyRange{"acme#", "acme$"}}));
  EXPECT_EQ(clamp.Within({{"a", "acme#h"}, {"acme#k", ""}}),
            std::vector({KeyRange{"acme#", "acme#h"}, KeyRange{"acme#k", "acme$"}}));
  EXPECT_TRUE(clamp.Within({{"b", ""}}).empty());
  EXPECT_TRUE(clamp.Within({{"acme#k", "acme#h"}}).empty());
  EXPECT_TRUE(clamp.Within({}).empty());
  EXPECT_TRUE(RowClamp().Within({KeyRange()}).empty());
}

TEST(RowClamp, LeavesOfWhatAQueryKnowsTheScopeAlone) {
  const RowClamp clamp = OfTenant("{tenant}#{host}");
  KnownFields known;
  clamp.Narrow(&known);
  EXPECT_EQ(known.values["tenant"], std::vector<std::string>{"acme"});
  known.values["tenant"] = {"acme2", "acme"};
  clamp.Narrow(&known);
  EXPECT_EQ(known.values["tenant"], std::vector<std::string>{"acme"});
  known.values["tenant"] = {"acme2"};
  clamp.Narrow(&known);
  EXPECT_TRUE(known.values["tenant"].empty());
}

TEST(RowClamp, ALabelOfTheScopesValueMakesARowItsOwn) {
  const RowClamp clamp = OfTenant("{m}#{labels}#{ts:ms}");
  EXPECT_TRUE(RowClamp::IsHeldBy(KeyOf("{m}#{labels}#{ts:ms}"), {{"tenant", "acme"}}));
  EXPECT_TRUE(clamp.Admits("cpu#host=a,tenant=acme#0000000000001"));
  for (const char* key :
       {"cpu##0000000000001", "cpu#host=a#0000000000001", "cpu#host=acme#0000000000001",
        "cpu#tenant=acme2#0000000000001", "cpu#tenant=#0000000000001",
        "tenant=acme##0000000000001", "cpu#a=tenant%3Dacme#0000000000001",
        "cpu#tenant=%61cme#0000000000001", "cpu#tenant=acme,tenant=b#0000000000001",
        "cpu#xtenant=acme#0000000000001"}) {
    EXPECT_FALSE(clamp.Admits(key)) << key;
  }
  EXPECT_FALSE(clamp.leads());
  EXPECT_FALSE(clamp.is_empty());
}

TEST(RowClamp, SeveralLabelsMustAllHoldBesideTheFieldsOfTheKey) {
  const RowClamp clamp =
      ClampOf("{site}#{labels}", {{"tenant", "a,b"}, {"site", "x"}, {"host", "h"}});
  EXPECT_TRUE(clamp.Admits("x#host=h,rack=1,tenant=a%2Cb"));
  EXPECT_FALSE(clamp.Admits("y#host=h,rack=1,tenant=a%2Cb"));
  EXPECT_FALSE(clamp.Admits("x#rack=1,tenant=a%2Cb"));
  EXPECT_FALSE(clamp.Admits("x#host=h,rack=1,tenant=a"));
}

TEST(RowClamp, AStemOfLabelsIsItsOwnWhereTheyTell) {
  const RowClamp clamp = OfTenant("{m}#{labels}#{ts:ms}");
  EXPECT_TRUE(clamp.OwnsStem(PrefixRange("cpu#host=a,tenant=acme#")));
  EXPECT_FALSE(clamp.OwnsStem(PrefixRange("cpu#host=a,tenant=acme")));
  EXPECT_FALSE(clamp.OwnsStem(PrefixRange("cpu#host=a,tenant=acme2#")));
  EXPECT_FALSE(clamp.OwnsStem(PrefixRange("cpu#tenant=acme,host=a#"))) << "no key";
  EXPECT_FALSE(clamp.OwnsStem(PrefixRange("cpu##")));
}

TEST(RowClamp, AFieldNamedLabelsIsALabelAsAnyOther) {
  const RowClamp clamp = ClampOf("k#{labels}", {{"labels", "acme"}});
  EXPECT_TRUE(clamp.Admits("k#labels=acme"));
  EXPECT_FALSE(clamp.Admits("k#acme=1"));
}

}  // namespace
}  // namespace tallyd
