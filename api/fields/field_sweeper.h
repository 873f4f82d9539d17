// FieldSweeper: forgets names of fields that nothing stored has any more: they came by a mistake,
// say, and their events were removed, or have expired. Beside writes, by the steps of
// FieldKeeper:
//
// 1. Fields of a stream that no configuration names, and of whose columns no table has a cell, are
//    doubted. Mappers are made anew, which do not count on their being known.
// 2. When nobody maps by the old ones any more, and what was made by them is committed and sealed,
//    the columns are looked for again.
// 3. What is still nowhere, and was not brought again meanwhile, is forgotten.
//
// A field of which it cannot be told where its values are (they name columns or rows) stays, and so
// do all of a stream while a table that is in the file no more has rules that cannot be read.
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_API_FIELDS_FIELD_SWEEPER_H_
#define TALLYD_API_FIELDS_FIELD_SWEEPER_H_

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/context.h"
#include "config/values/repeating_thread.h"
#include "storage/field_keeper.h"

namespace tallyd {

class FieldSweeper {
 public:
  // A store that cannot forget fields keeps them.
  explicit FieldSweeper(ApiContext* context)
      : context_(*context), keeper_(dynamic_cast<FieldKeeper*>(&context->store)) {}
  ~FieldSweeper() { Stop(); }
  FieldSweeper(const FieldSweeper&) = delete;
  FieldSweeper& operator=(const FieldSweeper&) = delete;

  void Start();
  void Stop() { thread_.Stop(); }

  // One look at each stream: a step further, where there is one.
  void Look();

 private:
  using Names = std::vector<std::string>;
  // What is doubted at one time.
  struct Round {
    std::map<std::string, Names> doubted;           // By stream.
    std::weak_ptr<const SchemaSnapshot> mapped_by;  // The mappers that counted on them.
    std::weak_ptr<const SchemaSnapshot> maps_by;    // Those that do not.
    bool is_over = false;
  };

  Status Begin(const SchemaSnapshot& snapshot);
  Status GoOn(const SchemaSnapshot& snapshot);
  Status Forget(const SchemaSnapshot& snapshot, const std::string& stream, Names names);
  // Those of `names` that nothing stored has.
  Result<Names> Unused(const SchemaSnapshot& snapshot, const std::string& stream, Names names);
  void RenewMappers();
  void End();

  ApiContext& context_;
  FieldKeeper* const keeper_;
  std::mutex work_mutex_;  // Of whoever looks; guards the next.
  Round round_;
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_API_FIELDS_FIELD_SWEEPER_H_
