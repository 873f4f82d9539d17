// SupersetLearner: which fields a stream's superset should have, learned from events whose shapes
// were new. It counts their names; each time twice as many such events came as the time before, the
// names that were in one of sixty-four or more become a superset, with those of the one before.
//
// Bounded: so many supersets, so many names (a name that is seen but once makes room), and of many
// events only some are counted. Not thread-safe: the registry's lock guards it.
#ifndef TALLYD_INGEST_DECODE_SUPERSET_LEARNER_H_
#define TALLYD_INGEST_DECODE_SUPERSET_LEARNER_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/field_name.h"
#include "ingest/decode/superset.h"

namespace tallyd {

class SupersetLearner {
 public:
  static constexpr size_t kFirstEvents = 256;  // That the first superset is made after.
  static constexpr size_t kMaxSupersets = 32;

  // Of an event with a new shape. Now and then a superset that is better than `last` (null: there
  // is none yet), whose shape has this number.
  std::unique_ptr<const Superset> Count(std::span<const std::string_view> fields,
                                        const Superset* last, uint32_t number = 0);

 private:
  struct Seen {
    uint64_t times = 0;
    uint64_t places = 0;  // The sum of its places in the events.
  };
  struct Hash : FieldNameHash {
    using is_transparent = void;
  };

  void CountNames(std::span<const std::string_view> fields);
  std::unique_ptr<const Superset> Make(const Superset* last, uint32_t number) const;
  size_t Most() const;  // Fields that a superset may have.
  std::vector<std::string> OftenSeen() const;

  boost::unordered_flat_map<std::string, Seen, Hash, std::equal_to<>> seen_;
  uint64_t awaited_ = kFirstEvents;
  uint64_t events_ = 0;   // Since the last superset was made.
  uint64_t counted_ = 0;  // Of these.
  uint64_t fields_ = 0;   // That those had.
  size_t made_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_SUPERSET_LEARNER_H_
