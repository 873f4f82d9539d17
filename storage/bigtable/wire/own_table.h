// The tables that the engine keeps for itself beside those of the configuration.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_OWN_TABLE_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_OWN_TABLE_H_

#include <string_view>

#include "config/values/result.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

// Makes one with one family, of one version; one that is there stays as it is. Blocks, with the
// client's deadline. kInvalid, naming the key: there is no such instance. kUnavailable: try again.
Status MakeOwnTable(BigtableClient* client, std::string_view name, std::string_view family);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_OWN_TABLE_H_
