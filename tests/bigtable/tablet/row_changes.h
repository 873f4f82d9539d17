// What the mutations of one row do to it. They are checked first and applied then, which cannot
// fail, so a row changes as a whole or not at all.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHANGES_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHANGES_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>

#include "tests/bigtable/tablet/stored_table.h"
#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

using Mutations = google::protobuf::RepeatedPtrField<v2::Mutation>;

// Whoever calls holds the table's mutex, in all of these.
grpc::Status CheckRowKey(const std::string& key);
grpc::Status CheckMutations(const StoredTable& table, const Mutations& mutations);
// REQUIRES: they were checked. With `fold` false aggregates are passed over.
void ApplyMutations(StoredTable* table, const std::string& key, const Mutations& mutations,
                    int64_t now_us, bool fold);

// The mutations of one entry or MutateRow, checked, with its token.
grpc::Status MutateOneRow(StoredTable* table, const std::string& key, const Mutations& mutations,
                          const v2::Idempotency* idempotency, int64_t now_us);
grpc::Status ReadModifyWrite(StoredTable* table, const v2::ReadModifyWriteRowRequest& request,
                             int64_t now_us, v2::Row* answer);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_ROW_CHANGES_H_
