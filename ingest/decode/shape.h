// Shape: the ordered list of fields of an event. A stream's events come in few shapes; each is
// learned once, so that a field costs the decoder a comparison with the name expected next, and the
// mapper an index instead of a look-up.
//
// ShapeRegistry interns shapes per stream: equal shapes have equal pointers, and live as long as
// the registry. Beyond its cap (fields that do not recur) an event owns its shape: EventBatch keeps
// it alive. Where shapes keep being new while their fields recur, it makes a Superset of these, for
// decoders to use instead. Thread-safe.
#ifndef TALLYD_INGEST_DECODE_SHAPE_H_
#define TALLYD_INGEST_DECODE_SHAPE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tallyd {

class Superset;
class SupersetLearner;

// What the tables ask of events that shall be mapped by a superset's shape: the mapper tells it,
// once it has compiled the shape, and decoders leave other events their own shapes. Thread-safe.
class SupersetTerms {
 public:
  static constexpr size_t kWords = 8;  // 64 fields each.
  using Places = std::array<uint64_t, kWords>;

  // No event can be mapped so.
  void Refuse() const { refused_.store(true, std::memory_order_relaxed); }
  bool refused() const { return refused_.load(std::memory_order_relaxed); }
  // Only events that have this field can.
  void Require(uint32_t place) const {
    required_[place / 64].fetch_or(uint64_t{1} << place % 64, std::memory_order_relaxed);
  }
  // Only events that have one of these fields can. False: too many such choices are asked for.
  bool RequireOneOf(std::span<const uint32_t> places) const;
  bool AreMetBy(const Places& places) const;

 private:
  static constexpr size_t kMaxChoices = 8;

  mutable std::atomic<bool> refused_ = false;
  mutable std::array<std::atomic<uint64_t>, kWords> required_ = {};
  mutable std::mutex mutex_;  // Of who adds a choice.
  mutable std::array<Places, kMaxChoices> choices_ = {};
  mutable std::atomic<size_t> choices_in_use_ = 0;
};

struct Shape {
  // Flattened names ("CPU/CPU1_USR"), in the order of the event, distinct, none empty.
  std::vector<std::string> fields;
  bool interned = false;  // Only interned shapes may be used as keys of caches.
  uint32_t number = 0;    // Of interned ones: small, and no other of the registry has it.
  const SupersetTerms* terms = nullptr;  // Of a superset's shape.
  // The places, ascending, of those that the events' protocol calls labels (tags, attributes), all
  // of them text. None: the protocol has no such word, and the stream's list of labels tells
  // (ingest/labels/event_labels.h).
  std::optional<std::vector<uint32_t>> labels = std::nullopt;

  // The field's place, if it is there. Linear: for compiling, not for events.
  std::optional<uint32_t> Find(std::string_view field) const;
};

class ShapeRegistry {
 public:
  static constexpr size_t kMaxShapes = 4096;

  ShapeRegistry();
  ~ShapeRegistry();
  ShapeRegistry(const ShapeRegistry&) = delete;
  ShapeRegistry& operator=(const ShapeRegistry&) = delete;

  // Null when the registry is full and the shape is new. REQUIRES: distinct, non-empty names.
  // `labels`: Shape::labels, of a protocol that tells; null where it does not. Lists of fields that
  // differ in it alone are two shapes, and those that tell are in no superset.
  const Shape* Intern(std::span<const std::string_view> fields,
                      const std::vector<uint32_t>* labels = nullptr);

  // The names of the fields that hold a time: an object there is none, even an empty one. Each list
  // stays as long as the registry.
  using TimeFields = std::vector<std::string>;
  void SetTimeFields(TimeFields fields);
  const TimeFields& time_fields() const { return *time_fields_.load(std::memory_order_acquire); }

  // For events whose shapes are new; null: none is known, or the tables do not allow it.
  const Superset* superset() const;

 private:
  void Learn(std::span<const std::string_view> fields);

  std::mutex mutex_;
  size_t bytes_ = 0;          // About as many as all names have.
  uint32_t next_number_ = 0;  // Of the next shape or superset.
  std::unordered_multimap<uint64_t, std::unique_ptr<const Shape>> shapes_;  // By XXH3 of the names.
  std::unique_ptr<SupersetLearner> learner_;
  std::vector<std::unique_ptr<const Superset>> supersets_;  // Mappings of all of them may stay.
  std::atomic<const Superset*> superset_ = nullptr;         // The last one.
  std::deque<TimeFields> all_time_fields_;                  // Connections may read older ones.
  std::atomic<const TimeFields*> time_fields_;              // The last one.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_SHAPE_H_
