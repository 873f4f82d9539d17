// TableAdmin: the tables of a schema as Bigtable has them: made with their families, and with rules
// of garbage collection that forget no more than tallyd's own, so that what nobody is shown any
// more goes by itself. Blocks, with the client's deadline.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_TABLE_ADMIN_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_TABLE_ADMIN_H_

#include <string>
#include <string_view>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "storage/bigtable/wire/client.h"
#include "storage/table_info.h"

namespace tallyd {

// Int64, folded by that; REQUIRES: the service has it (all but hll).
admin_api::Type TypeOf(Aggregate kind);

// Unset: nothing goes by itself.
admin_api::GcRule GcRuleOf(const Family& family, TableMode mode);
// Whatever the order in which a rule names others, once.
bool IsSameRule(const admin_api::GcRule& a, const admin_api::GcRule& b);
// "(max_versions 2 or max_age 3600 s)"; whatever the service has.
std::string TextOf(const admin_api::GcRule& rule);
// Whether something may go by `rule` that stays by `other`; true where that cannot be told.
bool MayForgetMore(const admin_api::GcRule& rule, const admin_api::GcRule& other);

struct EnsureOptions {
  int64_t grain_us = kUsPerMs;  // Or 1, of a table for tests.
  // False: a rule by which more would go than by the one there stays as it is. Before a file counts
  // nothing may go by it.
  bool may_forget_more = true;
};

// The table has all families of `table`, by the rules that it was given last. A family whose rules
// are those that `before` had already (null: there was none) keeps what it has on the service,
// whatever that is. kInvalid, naming what is missing, where it may not be made.
Status EnsureTable(BigtableClient* client, const TableInfo& table, const TableInfo* before,
                   const EnsureOptions& options);
Result<bool> HasTable(BigtableClient* client, std::string_view name);
// Gone, or never there.
Status RemoveTable(BigtableClient* client, std::string_view name);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_TABLE_ADMIN_H_
