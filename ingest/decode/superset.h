// Superset: all fields that a stream's events have now and then, as one shape. An event that
// carries 15 of 30 fields, ever another choice, has a shape that does not recur: instead of a shape
// of its own it is given the superset's, and the places of its values therein, so that what is
// compiled per shape serves it, too.
//
// A superset is immutable but for its terms, and lives as long as its registry. Thread-safe.
#ifndef TALLYD_INGEST_DECODE_SUPERSET_H_
#define TALLYD_INGEST_DECODE_SUPERSET_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/field_name.h"
#include "ingest/decode/shape.h"

namespace tallyd {

class Superset {
 public:
  static constexpr size_t kMaxFields = 512;
  static constexpr size_t kMaxNameBytes = 256;  // Longer names are not optional fields.
  static constexpr uint16_t kNoPlace = UINT16_MAX;

  // What a member of an event may be: a field, or an object around fields.
  struct Member {
    std::string path;           // "CPU", "CPU/USR".
    uint16_t place = kNoPlace;  // Of the field; none: it only is an object.
  };

  // REQUIRES: at most kMaxFields distinct names, none empty nor longer than kMaxNameBytes, none
  // with a quote or a backslash. Their order is the one that events are expected to have. `number`:
  // of the shape.
  explicit Superset(std::vector<std::string> fields, uint32_t number = 0);
  Superset(const Superset&) = delete;
  Superset& operator=(const Superset&) = delete;

  const Shape& shape() const { return shape_; }
  // In the order in which events are expected to have them, objects before what is in them.
  const std::vector<Member>& members() const { return members_; }
  std::optional<uint32_t> FindMember(std::string_view path) const;
  uint16_t PlaceOf(std::string_view field) const;  // kNoPlace: it has no such field.

  // Whether an event with values at these places is to be one of the superset: it has all that the
  // tables require, and not so few fields that it would mostly carry what it lacks.
  bool Serves(std::span<const uint16_t> places) const;

 private:
  Shape shape_;
  SupersetTerms terms_;
  std::vector<Member> members_;
  boost::unordered_flat_map<std::string_view, uint32_t, FieldNameHash> numbers_;  // Of members_.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_SUPERSET_H_
