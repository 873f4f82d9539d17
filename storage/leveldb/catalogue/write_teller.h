// WriteTeller: whether the writes to one row at one time took something from each other, by the
// columns that tell (config/schema/merge_risk.h). A column tells in one of three ways:
//
// - kValue: it keeps what tells a stream's events apart; another value is another event.
// - kFields: it holds the fields of an event in one cell. A write over it takes all the fields that
//   it lacks; one that has all of them is a correction.
// - kNames: its name holds the value. A corrected value is another column, and the old one stays.
//
// What it counts is what EventTeller counts, by a print of each write for each way. Not
// thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_WRITE_TELLER_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_WRITE_TELLER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/pattern.h"
#include "storage/event_teller.h"
#include "storage/table_info.h"

namespace tallyd {

struct Telling {
  enum class By : uint8_t { kValue, kFields, kNames };
  Column column;  // Of kNames the family counts: all of its columns but `others`.
  By by = By::kValue;
  Serialization how = Serialization::kNone;  // Of kFields, like the next.
  FieldsOfCell fields_of = nullptr;
  std::vector<std::string> others = {};

  bool IsOf(const ColumnRef& name) const;
  friend bool operator==(const Telling&, const Telling&) = default;
};

class WriteTeller {
 public:
  // `telling` outlives this.
  explicit WriteTeller(std::span<const Telling> telling)
      : telling_(telling),
        prints_(telling.size()),
        latest_(telling.size()),
        events_(telling.size()) {}

  // Another row or time.
  void Begin();
  // A cell of the write at hand, in a column that tells as telling[place] says. The latest first.
  void Take(size_t place, std::string_view qualifier, const Value& value);
  // Ends the write at hand. True: it is of another event than all before it.
  bool IsAnother();

 private:
  uint64_t PrintOfFields(size_t place, const Value& value);

  const std::span<const Telling> telling_;
  std::vector<uint64_t> prints_;               // Of the write at hand.
  std::vector<std::vector<uint64_t>> latest_;  // Of kFields, the fields of the latest write.
  std::vector<uint64_t> fields_;
  EventTeller events_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_WRITE_TELLER_H_
