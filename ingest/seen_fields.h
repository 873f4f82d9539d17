// Which fields, with which types, a stream is known to have, and which spelling of a compact name
// it saw last: so that what is new is remembered with the batch that brings it, and what is known
// costs nothing.
//
// A field counts as known only when the store says so: a batch that carried it may have failed.
// Thread-safe.
#ifndef TALLYD_INGEST_SEEN_FIELDS_H_
#define TALLYD_INGEST_SEEN_FIELDS_H_

#include <atomic>
#include <functional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/time.h"
#include "storage/store.h"

namespace tallyd {

inline uint8_t TypeBit(ValueType type) {
  return static_cast<uint8_t>(1u << static_cast<int>(type));
}

class SeenFields {
 public:
  SeenFields(Store& store, std::string stream);

  // The types that the store has for the field, as bits.
  uint8_t KnownTypes(std::string_view field) const;
  // Whether the store has this as the last spelling of the compact name.
  bool IsLastSpelling(std::string_view compact, std::string_view field) const;
  // A batch brings another. Until the store agrees, the store's word counts for nothing: another
  // batch may be on its way.
  void NoteSpelling(std::string_view compact, std::string_view field);
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
  std::atomic<bool> missing_ = false;
  std::atomic<TimeUs> refreshed_ = 0;
  mutable std::shared_mutex mutex_;
  template <class T>
  using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  ByName<uint8_t> types_;
  ByName<FieldInfo> spellings_;  // By compact name: the last that the store knows of.
  ByName<std::string> noted_;    // By compact name: what the store may not know yet.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_SEEN_FIELDS_H_
