// The order in which members follow each other in the events of a connection, learned once. While
// an event's members come in a known order, a field costs the comparison of its name with the one
// expected next, or with a few; behind some members many others may come, which are found by a
// hash. The shape waits at the end. At the first difference the event is projected
// onto the stream's superset, where there is one and it has all members; else the names met so far
// are spelled out, the rest is collected by name, and the new order is learned beside the old ones.
//
// Use for each body; per event: Begin, Member for each member, Close at the end of each nested
// object, End. NoteLead, behind each of these, has what stands between values learned, too: events
// that repeat it can be followed by their text alone (FollowText), without a look for tokens.
// Decoders of protocols that tell which fields are labels call MarkLabels once, and Member with
// Kind::kLabel for each: the mark is part of the order that is learned and of the shape
// (Shape::labels), and costs nothing per value.
//
// Bounded: orders that do not recur stop being learned. Not thread-safe.
#ifndef TALLYD_INGEST_DECODE_FIELD_ORDER_H_
#define TALLYD_INGEST_DECODE_FIELD_ORDER_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/field_name.h"
#include "ingest/decode/projection.h"
#include "ingest/decode/shape.h"
#include "ingest/decode/superset.h"

namespace tallyd {

class FieldOrder {
 public:
  using Kind = MemberKind;
  enum class Step : uint8_t {
    kOk,
    // `name` holds escapes and is not known by them: call again with what they stand for.
    kEscaped,
    kDuplicate,
    kEmptyName,
    kTooLong,
    kTooManyNames,  // Of all events since AllowNames.
  };

  FieldOrder();

  // Before all events: each shape tells its labels, none included; no event is projected.
  void MarkLabels() { marks_labels_ = true; }

  // Before the events of a body. `superset`: for events in an order that is not known; or null.
  // REQUIRES: null, with MarkLabels.
  void Use(const Superset* superset) {
    if (superset != superset_) projects_next_ = false;
    superset_ = superset;
  }
  // So much may the names take that are spelled out from now on (MostNameBytes).
  void AllowNames(size_t bytes) { names_left_ = bytes; }
  size_t names_left() const { return names_left_; }
  void Begin() {
    at_ = 0;
    has_too_many_names_ = false;
    mode_ = Mode::kFollowing;
    if (projects_next_) StartProjecting();
  }

  // The next member of the current object. `raw`: `name` is as it stands between the quotes.
  Step Member(std::string_view name, bool raw, Kind kind) {
    if (mode_ == Mode::kFollowing) {
      for (uint32_t i = nodes_[at_].child; i != 0; i = nodes_[i].sibling) {
        const Node& child = nodes_[i];
        if (IsSameName(child.name, name) && child.kind == kind && (child.plain || !raw)) {
          at_ = i;
          return Step::kOk;
        }
      }
    }
    return Differ(name, raw, kind);
  }
  // The end of the nested object entered last.
  void Close();
  // The event's shape, or null where *owned has it instead (the registry is full). Null in both:
  // the event has no fields, or too many names.
  const Shape* End(ShapeRegistry& shapes, std::unique_ptr<const Shape>* owned);
  bool has_too_many_names() const { return has_too_many_names_; }
  // After End, where the shape is a superset's: the places of the event's values; else none.
  std::span<const uint16_t> places() const {
    return mode_ == Mode::kProjecting ? projection_.places() : std::span<const uint16_t>();
  }

  // What led to what Member, Close or End was told last, as it stands in the text: from behind the
  // value before it, or the event's beginning, to its own value; to its end, where it has none.
  void NoteLead(Kind kind, std::string_view lead) {
    if (mode_ == Mode::kProjecting || !nodes_[at_].lead.text.empty()) return;
    if (nodes_[at_].kind == kind && (mode_ == Mode::kFollowing || learning_)) SetLead(lead);
  }

  // Instead of all of these, after Begin: moves on to what comes next, and *at behind its lead.
  // False: none that is known has that lead. `*at` may stand behind `end`; 8 bytes are read there.
  bool FollowText(const char** at, const char* end) {
    for (uint32_t i = nodes_[at_].child; i != 0; i = nodes_[i].sibling) {
      if (!nodes_[i].lead.StandsAt(*at, end)) continue;
      *at += nodes_[i].lead.text.size();
      at_ = i;
      return true;
    }
    return false;
  }
  // Whether the next event may be tried so.
  bool MayFollowText() const { return !projects_next_; }
  // Of what FollowText came to: of kEnd the shape.
  Kind kind() const { return nodes_[at_].kind; }
  const Shape* shape() const { return nodes_[at_].shape; }
  // Of kClose, where nothing but nulls stands in it: the name of the object that ended.
  std::string_view ClosedName() const;

  // What was learned, and is kept for events that are not known, takes about so many.
  size_t bytes() const {
    return nodes_.capacity() * sizeof(Node) + texts_.size() * kChunkBytes + text_bytes_ +
           more_children_.size() * 2 * sizeof(std::pair<Child, uint32_t>) + most_collected_;
  }
  // Gives back what an event took whose names were spelled out, where that was much.
  void Shrink();

  // The flattened name of a member of the current object, for messages. Ends the event's fast path.
  std::string PathOf(std::string_view name);

 private:
  static constexpr size_t kChunkBytes = 16u << 10;  // Of texts_.
  static constexpr size_t kKeptCollected = 64u << 10;

  struct Lead {
    std::string_view text;  // In texts_; empty: it is not known.
    // Its first eight bytes, and which of them there are.
    uint64_t head = 0;
    uint64_t mask = 0;

    bool StandsAt(const char* at, const char* end) const {
      if (((LoadWord(at) ^ head) & mask) != 0 || text.empty()) return false;
      if (end - at < static_cast<ptrdiff_t>(text.size())) return false;
      return text.size() <= sizeof head || IsSameName(text, {at, text.size()});
    }
  };

  struct Node {
    std::string_view name;  // Unescaped; in texts_.
    Kind kind = Kind::kEnd;
    bool plain = true;  // Stands between quotes as it is: holds neither quote nor backslash.
    uint32_t parent = 0;
    uint32_t child = 0;            // The first; 0: none.
    uint32_t sibling = 0;          // The next; 0: none.
    bool has_more = false;         // Children, in more_children_.
    const Shape* shape = nullptr;  // Of kEnd.
    Lead lead;
  };

  struct Child {
    uint32_t parent = 0;
    Kind kind = Kind::kEnd;
    std::string_view name;  // Of the node.
    friend bool operator==(const Child&, const Child&) = default;
    struct Hash {
      using is_avalanching = void;
      size_t operator()(const Child& child) const;
    };
  };

  Step Differ(std::string_view name, bool raw, Kind kind);
  bool StartProjecting();
  std::vector<uint32_t> WayTo(uint32_t node) const;
  Step Collect(std::string_view name, Kind kind);
  void StartCollecting();
  void Learn(std::string_view name, Kind kind, const Shape* shape);
  void SetLead(std::string_view lead);
  void Forget();
  uint32_t FindChild(Kind kind) const;
  // Of the node reached, one that is in no list of siblings; 0: there is none.
  uint32_t FindMore(std::string_view name, Kind kind) const;
  std::string_view StoreText(std::string_view text);

  std::vector<Node> nodes_;  // [0] is the beginning of an event.
  uint32_t at_ = 0;          // The node reached.
  boost::unordered_flat_map<Child, uint32_t, Child::Hash> more_children_;
  size_t parents_of_more_ = 0;
  std::deque<std::string> texts_;  // Chunks whose addresses stay.
  size_t text_bytes_ = 0;
  size_t unlearned_events_ = 0;  // That found no room, since the last Forget.

  enum class Mode : uint8_t {
    kFollowing,   // The order is known so far.
    kProjecting,  // It is not, but the superset has all members so far.
    kCollecting,  // It is a new one.
  };
  Mode mode_ = Mode::kFollowing;

  const Superset* superset_ = nullptr;
  Projection projection_;
  bool projects_next_ = false;  // As the last event was.
  uint32_t projected_ = 0;      // Events in a row.

  bool marks_labels_ = false;

  // While collecting:
  bool learning_ = false;  // There was room so far.
  bool has_too_many_names_ = false;
  size_t names_left_ = 0;
  size_t collected_ = 0;       // Of that, by this event.
  size_t most_collected_ = 0;  // By one, since Shrink gave it back.
  std::string prefix_;  // "CPU/" inside of CPU.
  std::vector<size_t> prefix_sizes_;
  std::deque<std::string> paths_;  // Of all members, objects and nulls too.
  boost::unordered_flat_set<std::string_view, FieldNameHash> seen_;
  std::vector<std::string_view> fields_;  // Of members with a value.
  std::vector<uint32_t> labels_;          // Those of them that are labels.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_FIELD_ORDER_H_
