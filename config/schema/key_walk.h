// The walk of config/schema/key_ranges.h over one template, from the left:
//
//   1. Literals, known fields and salts of known fields extend every branch; several values fan
//      out.
//   2. A salt of anything else fans out over its n values where what follows it can narrow.
//   3. A time segment ends the walk in a range, or is listed period by period: when known segments
//      follow it, or when its text does not sort.
//   4. The first unknown segment ends the walk: each branch is a prefix.
#ifndef TALLYD_CONFIG_SCHEMA_KEY_WALK_H_
#define TALLYD_CONFIG_SCHEMA_KEY_WALK_H_

#include <string>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"

namespace tallyd {

class KeyWalk {
 public:
  // What it is given must outlive it. `known.time` is not empty.
  KeyWalk(const RowKeyTemplate& row_key, const KnownFields& known, TimeUnit unit);

  // Once. The ranges come unsorted, and may be equal or nested.
  Result<KeyRanges> Run();

 private:
  using Values = std::vector<std::string>;

  // One prefix, and what it stands for.
  struct Branch {
    std::string prefix;
    TimeRange window;  // What its listed periods leave of the query's time.
    // Values taken for fields that the template names again: a salt and its field go together.
    std::vector<std::pair<std::string_view, std::string_view>> taken;
  };
  enum class Next { kGoOn, kEnd };

  void BeginWithSeries();
  Result<Next> Step(const Segment& segment);
  Result<Next> StepField(const Segment& segment, const Values& values);
  Result<Next> StepSalt(const Segment& segment);
  Result<Next> StepTime(const Segment& segment);
  Result<Next> ListPeriods(const Segment& segment);
  void Bound();
  void EndInTimeRanges();
  KeyRange TimeRangeOf(const Branch& branch) const;

  const Values* FindValues(const Segment& segment) const;
  bool IsOpenSalt(const Segment& segment) const;
  size_t NextPlaceholder(size_t from) const;  // Past literals and open salts.
  bool TimeVariesFrom(size_t segment) const;
  bool KnownFollows() const;
  bool SaltPays() const;
  size_t CountPeriods(const Spec& spec, size_t limit) const;
  size_t FanOutAfter() const;
  std::vector<std::string> WouldBound() const;
  Error TooMany(size_t ranges) const;
  KeyRanges Finish();

  const RowKeyTemplate& row_key_;
  const std::vector<Segment>& segments_;
  const KnownFields& known_;
  const TimeUnit unit_;
  size_t at_ = 0;
  std::vector<Branch> branches_;
  KeyRanges found_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_KEY_WALK_H_
