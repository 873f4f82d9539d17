// Which fields, with which types, a stream is known to have, which spelling of a compact name it
// saw last, and which fields its tables are known to have missed: so that what is new is remembered
// with the batch that brings it, and what is known costs nothing.
//
// A field counts as known only when the store says so: a batch that carried it may have failed.
// Thread-safe.
#ifndef TALLYD_INGEST_MAP_SEEN_FIELDS_H_
#define TALLYD_INGEST_MAP_SEEN_FIELDS_H_

#include <atomic>
#include <functional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

// What is to be remembered of a value of a field of which `known` is remembered already.
// `text_bit`: what a string is, kLabelBit where it is a label.
inline uint8_t TypeBitsOf(const Value& value, uint8_t known,
                          uint8_t text_bit = TypeBit(ValueType::kString)) {
  const uint8_t type = value.type() == ValueType::kString ? text_bit : TypeBit(value.type());
  if (value.type() != ValueType::kString || (known & kNumberTextBit) != 0) return type;
  const std::string_view text = value.AsView();
  const bool spells_number = MayBeNumber(text) && ValueFromText(text).is_number();
  return spells_number ? static_cast<uint8_t>(type | kNumberTextBit) : type;
}

class SeenFields {
 public:
  SeenFields(Store& store, std::string stream, std::vector<TablePtr> tables = {});

  // The types that the store has for the field, as bits.
  uint8_t KnownTypes(std::string_view field) const;
  // Whether the store has this as the last spelling of the compact name.
  bool IsLastSpelling(std::string_view compact, std::string_view field) const;
  // A batch brings another. Until the store agrees, the store's word counts for nothing: another
  // batch may be on its way.
  void NoteSpelling(std::string_view compact, std::string_view field);
  // Whether the store has it that the table missed the field so, since its rules are what they are.
  bool KnowsMissed(const TableInfo& table, std::string_view field, uint8_t how) const;
  // Asks the store again if a field was missed since, and not more often than every 100 ms.
  void Refresh(TimeUs now);
  void NoteMissing() { missing_.store(true, std::memory_order_relaxed); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void Load();

  Store& store_;
  const std::string stream_;
  const std::vector<TablePtr> tables_;
  std::atomic<bool> missing_ = false;
  std::atomic<TimeUs> refreshed_ = 0;
  mutable std::shared_mutex mutex_;
  template <class T>
  using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  ByName<uint8_t> types_;
  ByName<FieldInfo> spellings_;  // By compact name: the last that the store knows of.
  ByName<std::string> noted_;    // By compact name: what the store may not know yet.
  std::unordered_map<TableId, ByName<uint8_t>> missed_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_SEEN_FIELDS_H_
