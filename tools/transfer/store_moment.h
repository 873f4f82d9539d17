// StoreMoment: what a daemon's store was at a moment, by what /v1/status says of it. Whoever goes
// on compares: another store, and the same one put back from an older copy, have not all of it. A
// restart changes nothing.
#ifndef TALLYD_TOOLS_TRANSFER_STORE_MOMENT_H_
#define TALLYD_TOOLS_TRANSFER_STORE_MOMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/text/json.h"

namespace tallyd {

struct StoreMoment {
  std::string id;         // Empty: the daemon does not tell of its store, or not to this token.
  std::string opening;    // The last one by then; empty: not told, and the id alone is compared.
  uint64_t openings = 0;  // How many there had been.
  uint64_t changes = 0;
};

// The member `store` of such an answer; an empty object where there is none.
Json StoreOfStatus(std::string_view status);
StoreMoment MomentOf(const Json& store);
// Whether a store of which this is said has all that it had at the moment.
bool HasAllOf(const Json& store, const StoreMoment& moment);

// As a member of a state: an object.
Json JsonOfMoment(const StoreMoment& moment);
StoreMoment MomentOfJson(const Json& json);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_STORE_MOMENT_H_
