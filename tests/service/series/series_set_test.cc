#include "service/series/series_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

namespace tallyd {
namespace {

using SetOfTexts = std::set<std::string>;

std::vector<uint64_t> TermsOfSeries(std::string_view series) {
  return {TermOf("all", ""), TermOf("last", series.substr(series.size() - 1))};
}

SetOfTexts TextsWith(const SeriesSet& set, uint64_t term) {
  SetOfTexts texts;
  for (const SeriesSet::Id id : set.With(term)) {
    if (set.is_live(id)) texts.emplace(set.text(id));
  }
  return texts;
}

TEST(SeriesSet, FindsWhatWasAddedAndNothingElse) {
  SeriesSet set;
  EXPECT_FALSE(set.Find("cpu#host=a#"));
  const SeriesSet::Id id = set.Add("cpu#host=a#", TermsOfSeries("cpu#host=a#"));
  EXPECT_EQ(set.Find("cpu#host=a#"), id);
  EXPECT_FALSE(set.Find("cpu#host=a"));
  EXPECT_EQ(set.text(id), "cpu#host=a#");
}

TEST(SeriesSet, TellsFieldAndValueOfATermApart) {
  EXPECT_NE(TermOf("ab", "c"), TermOf("a", "bc"));
  EXPECT_NE(TermOf("a", "b"), TermOf("b", "a"));
}

TEST(SeriesSet, ComesBackUnderItsOldNumberWithItsTerms) {
  SeriesSet set;
  const SeriesSet::Id id = set.Add("x1", TermsOfSeries("x1"));
  set.Remove(id);
  EXPECT_EQ(set.size(), 0u);
  EXPECT_FALSE(set.Find("x1"));
  EXPECT_EQ(set.Add("x1", TermsOfSeries("x1")), id);
  EXPECT_EQ(TextsWith(set, TermOf("last", "1")), SetOfTexts{"x1"});
}

TEST(SeriesSet, IsASetOfTextsWhateverIsDoneToIt) {
  std::mt19937 random(7);
  SeriesSet set;
  SetOfTexts model;
  const auto terms_of = [](std::string_view text, std::vector<uint64_t>* terms) {
    for (const uint64_t term : TermsOfSeries(text)) terms->push_back(term);
  };
  for (int step = 0; step < 60'000; ++step) {
    const std::string text = "s" + std::to_string(random() % 8000);
    if (random() % 8 == 0 && step % 20'000 > 10'000) {
      if (const auto id = set.Find(text)) set.Remove(*id);
      model.erase(text);
    } else if (!set.Find(text)) {
      set.Add(text, TermsOfSeries(text));
      model.insert(text);
    }
    if (step % 15'000 == 0) set.Compact(terms_of);
    ASSERT_EQ(set.Find(text).has_value(), model.contains(text));
  }
  EXPECT_EQ(set.size(), model.size());
  EXPECT_EQ(TextsWith(set, TermOf("all", "")), model);
  for (char last = '0'; last <= '9'; ++last) {
    SetOfTexts with;
    std::ranges::copy_if(model, std::inserter(with, with.end()),
                         [last](const std::string& text) { return text.back() == last; });
    EXPECT_EQ(TextsWith(set, TermOf("last", std::string(1, last))), with);
  }
}

TEST(SeriesSet, NumbersWithATermAscend) {
  SeriesSet set;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = "s" + std::to_string(i);
    set.Add(text, TermsOfSeries(text));
  }
  EXPECT_TRUE(std::ranges::is_sorted(set.With(TermOf("all", ""))));
  EXPECT_EQ(set.With(TermOf("all", "")).size(), 1000u);
}

TEST(SeriesSet, WantsCompactionOnceMostIsGone) {
  SeriesSet set;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = "s" + std::to_string(i);
    set.Add(text, TermsOfSeries(text));
  }
  EXPECT_FALSE(set.wants_compaction());
  for (SeriesSet::Id id = 0; id < 15'000; ++id) set.Remove(id);
  EXPECT_TRUE(set.wants_compaction());
}

}  // namespace
}  // namespace tallyd
