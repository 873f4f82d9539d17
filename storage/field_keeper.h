// FieldKeeper: what a store may be able to do beside all others: to forget fields of which nothing
// stored tells any more, for whoever knows which columns they have. In steps, beside writes:
//
// 1. DoubtFields, in the place of those of the stream that were doubted before. Whoever makes
//    batches does not count on these to be known from then on.
// 2. Until DoubtIsOver: what was made before is committed, and where HaveColumns looks for it.
// 3. HaveColumns tells for each column whether the table has a cell of it, hidden or not.
// 4. ForgetFields forgets those that are doubted still, as nobody brought them meanwhile.
//
//   auto* const keeper = dynamic_cast<FieldKeeper*>(&store);   // Null: it cannot.
//
// Thread-safe. Blocks on the disk.
#ifndef TALLYD_STORAGE_FIELD_KEEPER_H_
#define TALLYD_STORAGE_FIELD_KEEPER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/table_info.h"

namespace tallyd {

class FieldKeeper {
 public:
  virtual ~FieldKeeper() = default;

  // Those of the stream of which all that they came with is where HaveColumns looks.
  virtual std::vector<std::string> SettledFields(std::string_view stream) const = 0;
  virtual std::vector<std::string> DoubtedFields(std::string_view stream) const = 0;
  virtual void DoubtFields(std::string_view stream, const std::vector<std::string>& names) = 0;
  // What was made before the first call since they were doubted is committed, and settled.
  virtual bool DoubtIsOver(std::string_view stream) = 0;
  // By place.
  virtual Result<std::vector<bool>> HaveColumns(const TablePtr& table,
                                                std::span<const Column> columns) = 0;
  // How many; durable on return.
  virtual Result<size_t> ForgetFields(std::string_view stream,
                                      const std::vector<std::string>& names) = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_FIELD_KEEPER_H_
