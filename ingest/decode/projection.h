// Projection: the members of one event as they are met, found among those of a superset. Mostly
// they come in its order, so the next one is compared with the few that are expected, and only
// others are looked up.
//
// Per event: Begin, Member for each member, Close at the end of each nested object; places() are
// those of its values then. Not thread-safe.
#ifndef TALLYD_INGEST_DECODE_PROJECTION_H_
#define TALLYD_INGEST_DECODE_PROJECTION_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/field_name.h"
#include "ingest/decode/superset.h"

namespace tallyd {

// kLabel: a value that the protocol calls a label, in bodies whose decoder marks them
// (FieldOrder::MarkLabels).
enum class MemberKind : uint8_t { kValue, kNull, kObject, kClose, kEnd, kLabel };

class Projection {
 public:
  enum class Found : uint8_t {
    kYes,
    kNo,     // The superset has no such member.
    kTwice,  // The event has it already.
  };

  void Begin(const Superset& superset);

  // A member of the current object that is no kClose.
  Found Member(std::string_view name, MemberKind kind) {
    // No member has an empty name, but behind an object it would spell a field that ends in '/'.
    if (name.empty()) return Found::kNo;
    const std::vector<Superset::Member>& members = superset_->members();
    const size_t end = std::min(next_ + kExpected, members.size());
    for (size_t i = next_; i < end; ++i) {
      if (Is(members[i].path, name)) return Take(static_cast<uint32_t>(i), kind);
    }
    return Look(name, kind);
  }
  void Close();

  bool fits() const { return superset_->Serves(places_); }
  const Superset& superset() const { return *superset_; }
  // Of the values, in the event's order.
  std::span<const uint16_t> places() const { return places_; }

  // Calls `take` with name and kind of each member so far.
  template <class Take>
  void ForEach(Take take) const {
    std::vector<size_t> prefixes = {0};
    for (const Met& met : met_) {
      std::string_view name;
      if (met.kind == MemberKind::kClose) {
        prefixes.pop_back();
      } else {
        const std::string_view path = superset_->members()[met.member].path;
        name = path.substr(prefixes.back());
        if (met.kind == MemberKind::kObject) prefixes.push_back(path.size() + 1);
      }
      take(name, met.kind);
    }
  }

 private:
  // Beyond so many members that an event lacks, one look-up is cheaper.
  static constexpr size_t kExpected = 6;

  struct Met {
    uint32_t member = 0;
    MemberKind kind = MemberKind::kValue;
  };

  bool Is(std::string_view path, std::string_view name) const {
    if (prefix_.empty()) return IsSameName(path, name);
    return path.size() == prefix_.size() + name.size() && path.starts_with(prefix_) &&
           path.ends_with(name);
  }
  Found Take(uint32_t member, MemberKind kind) {
    uint64_t& word = seen_[member / 64];
    const uint64_t bit = uint64_t{1} << member % 64;
    if ((word & bit) != 0) return Found::kTwice;
    const uint16_t place = superset_->members()[member].place;
    if (kind == MemberKind::kValue) {
      if (place == Superset::kNoPlace) return Found::kNo;
      places_.push_back(place);
    }
    word |= bit;
    met_.push_back({member, kind});
    next_ = member + 1;
    if (kind == MemberKind::kObject) Enter(member);
    return Found::kYes;
  }
  Found Look(std::string_view name, MemberKind kind);
  void Enter(uint32_t member);

  const Superset* superset_ = nullptr;
  size_t next_ = 0;  // The member that is expected.
  std::vector<uint64_t> seen_;
  std::vector<Met> met_;
  std::vector<uint16_t> places_;
  std::string prefix_;  // "CPU/" inside of CPU.
  std::vector<size_t> prefix_sizes_;
  std::string path_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_PROJECTION_H_
