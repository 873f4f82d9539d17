// FieldLimit: how many fields a stream may have (`max_fields`): exact, however many writes come
// at once, as a name that is new is reserved before its event is committed; what came into the
// store on another way (a filling, another daemon) counts within a second. Thread-safe.
#ifndef TALLYD_SERVICE_SERIES_FIELD_LIMIT_H_
#define TALLYD_SERVICE_SERIES_FIELD_LIMIT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "storage/store.h"

namespace tallyd {

class FieldLimit {
 public:
  enum class Admitted : uint8_t { kKnown, kReserved, kFull };

  // `store` outlives it.
  FieldLimit(const Store& store, std::string stream) : store_(store), stream_(std::move(stream)) {}
  FieldLimit(const FieldLimit&) = delete;
  FieldLimit& operator=(const FieldLimit&) = delete;

  // Whoever reserved the name calls Settle when its commit is answered, or will not be.
  Admitted Admit(const std::string& field, uint64_t most);
  void Settle(const std::string& field);
  uint64_t Count();

 private:
  void Load();
  uint64_t Taken() const;  // Names that are there, or may be soon.

  const Store& store_;
  const std::string stream_;
  std::mutex mutex_;  // Guards what follows.
  std::set<std::string, std::less<>> known_;
  std::map<std::string, uint32_t> pending_;     // By how many writes.
  uint64_t pending_known_ = 0;                  // Those of them that the store knows, too.
  std::set<std::string, std::less<>> settled_;  // Since the store was asked; it may know them.
  std::optional<std::chrono::steady_clock::time_point> loaded_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_FIELD_LIMIT_H_
