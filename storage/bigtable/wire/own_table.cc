#include "storage/bigtable/wire/own_table.h"

#include <fmt/format.h>

#include <string>

#include "storage/bigtable/wire/retry.h"

namespace tallyd {

Status MakeOwnTable(BigtableClient* client, std::string_view name, std::string_view family) {
  admin_api::CreateTableRequest request;
  request.set_parent(client->instance_name());
  request.set_table_id(client->config().prefix + std::string(name));
  admin_api::ColumnFamily made;
  made.mutable_gc_rule()->set_max_num_versions(1);
  (*request.mutable_table()->mutable_column_families())[std::string(family)] = made;
  const RpcStatus ended = CallUntilAnswered(
      client, [&](SteadyTime deadline) { return client->CreateTable(request, deadline); });
  // Another daemon was first, or an answer was lost.
  if (ended.ok() || ended.code == RpcCode::kAlreadyExists) return {};
  if (ended.code == RpcCode::kNotFound) {
    return Invalid(fmt::format("storage.bigtable.instance: there is no {}: {}",
                               client->instance_name(), ended.message));
  }
  return ErrorOf(ended, client->TableName(name));
}

}  // namespace tallyd
