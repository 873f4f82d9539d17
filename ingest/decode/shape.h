// Shape: the ordered list of fields of an event. A stream's events come in few shapes; each is
// learned once, so that a field costs the decoder a comparison with the name expected next, and the
// mapper an index instead of a look-up.
//
// ShapeRegistry interns shapes per stream: equal shapes have equal pointers, and live as long as
// the registry. Beyond its cap (fields that do not recur) an event owns its shape: EventBatch keeps
// it alive. Thread-safe.
#ifndef TALLYD_INGEST_DECODE_SHAPE_H_
#define TALLYD_INGEST_DECODE_SHAPE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tallyd {

struct Shape {
  // Flattened names ("CPU/CPU1_USR"), in the order of the event, distinct, none empty.
  std::vector<std::string> fields;
  bool interned = false;  // Only interned shapes may be used as keys of caches.

  // The field's place, if it is there. Linear: for compiling, not for events.
  std::optional<uint32_t> Find(std::string_view field) const;
};

class ShapeRegistry {
 public:
  static constexpr size_t kMaxShapes = 4096;

  ShapeRegistry() = default;
  ShapeRegistry(const ShapeRegistry&) = delete;
  ShapeRegistry& operator=(const ShapeRegistry&) = delete;

  // Null when the registry is full and the shape is new. REQUIRES: distinct, non-empty names.
  const Shape* Intern(std::span<const std::string_view> fields);

 private:
  std::mutex mutex_;
  size_t bytes_ = 0;  // About as many as all names have.
  std::unordered_multimap<uint64_t, std::unique_ptr<const Shape>> shapes_;  // By XXH3 of the names.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_SHAPE_H_
