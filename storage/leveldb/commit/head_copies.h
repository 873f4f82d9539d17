// HeadCopies: what the entries of a head build on beside them in the head: the records of their
// tables, streams and sets of columns, as base has them. Each is copied when the head first needs
// it, so that a head tells what its entries mean even if base is lost (`tallyd salvage`); nobody
// else reads the copies. Of the committer's thread.
//
//   Use..., for each entry of a group; Put, when it is known to which head the group goes.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_HEAD_COPIES_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_HEAD_COPIES_H_

#include <leveldb/write_batch.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/catalogue/registries.h"

namespace tallyd {

class HeadCopies {
 public:
  // Both outlive it.
  HeadCopies(const Catalogue* catalogue, const ColumnRegistry* sets)
      : catalogue_(*catalogue), sets_(*sets) {}

  // `entry` as it is stored in the head, or as a layer of a latest row.
  void Use(TableId table, std::string_view entry);
  // Adds the copies that the head does not have of what the group uses; the next group begins.
  void Put(uint64_t head, leveldb::WriteBatch* batch);
  // After a failed write nobody knows what the head has.
  void Forget();

 private:
  // A table, or a table's set of columns.
  using Copy = uint64_t;
  struct Known {
    uint64_t group = 0;  // The last one that used it.
    uint64_t head = 0;   // The last one that it was copied to; 0: none.
  };

  void UseCopy(Copy copy);
  void PutCopy(Copy copy, leveldb::WriteBatch* batch) const;

  const Catalogue& catalogue_;
  const ColumnRegistry& sets_;
  boost::unordered_flat_map<Copy, Known> known_;
  uint64_t group_ = 1;
  std::vector<Copy> used_;  // By the group at hand.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_HEAD_COPIES_H_
