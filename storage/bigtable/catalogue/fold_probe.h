// What the service can do of aggregate families, found out by two of the catalogue's table: an
// emulator may have none, fold in another way, or count twice what comes twice.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_FOLD_PROBE_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_FOLD_PROBE_H_

#include <string>

#include "config/values/aggregate.h"
#include "config/values/result.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

struct FoldTraits {
  bool adds = false;          // It has sums,
  bool compares = false;      // and min and max.
  bool takes_tokens = false;  // What comes twice with one token counts once.
  std::string why;            // Of what it has not, as far as the service said why.

  bool Has(Aggregate kind) const {
    if (kind == Aggregate::kHll) return false;
    return kind == Aggregate::kSum ? adds : compares;
  }
};

// Blocks, with the client's deadline. Makes the families once. kInvalid, naming the key: they are
// missing, and may not be made.
Result<FoldTraits> FindFoldTraits(BigtableClient* client);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_FOLD_PROBE_H_
