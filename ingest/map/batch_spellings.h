// BatchSpellings: which field a batch saw last of those with one compact name. Events of shapes
// that recur only tell that they came; the names are gone through once a batch.
//
// Mappings that recur outlive it. Not thread-safe.
#ifndef TALLYD_INGEST_MAP_BATCH_SPELLINGS_H_
#define TALLYD_INGEST_MAP_BATCH_SPELLINGS_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/values/value.h"
#include "ingest/map/shape_mapping.h"

namespace tallyd {

class BatchSpellings {
 public:
  void Note(const ShapeMapping& mapping);
  // Of an event that has a choice of the mapping's fields: `values` are by place.
  void NoteChoice(const ShapeMapping& mapping, std::span<const Value> values);
  // Of a shape that does not recur.
  void NoteOwn(const ShapeMapping& mapping);

  // By compact name: the field.
  std::map<std::string, std::string> Last() const;

 private:
  using When = size_t;
  struct Spelling {
    When when = 0;
    std::string field;
  };
  using Spellings = std::map<std::string, Spelling>;

  static void Add(const CompactField& field, When when, Spellings* spellings);

  When now_ = 0;
  const ShapeMapping* last_ = nullptr;
  std::unordered_map<const ShapeMapping*, When> shapes_;
  std::unordered_map<const ShapeMapping*, std::vector<When>> choices_;  // By compact field.
  Spellings own_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_BATCH_SPELLINGS_H_
