#include "storage/bigtable/catalogue/table_admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

SteadyTime DeadlineOf(const BigtableClient& client) {
  return std::chrono::steady_clock::now() + std::chrono::microseconds(client.config().deadline_us);
}

// Tries `call` until it is answered for good.
template <class Call>
RpcStatus Ask(const BigtableClient& client, const Call& call) {
  Retry retry(DeadlineOf(client));
  RpcStatus ended;
  do {
    ended = call(retry.deadline());
  } while (retry.MayTryAgain(ended));
  return ended;
}

// Bigtable's least age is a millisecond.
void SetAge(int64_t age_us, admin_api::GcRule* rule) {
  const int64_t age = std::max(age_us, kUsPerMs);
  rule->mutable_max_age()->set_seconds(age / kUsPerSecond);
  rule->mutable_max_age()->set_nanos(static_cast<int32_t>(age % kUsPerSecond * 1000));
}

admin_api::ColumnFamily FamilyOf(const StoredFamily& family, TableMode mode) {
  admin_api::ColumnFamily made;
  *made.mutable_gc_rule() = GcRuleOf(family.last, mode);
  if (family.last.aggregate) *made.mutable_value_type() = TypeOf(*family.last.aggregate);
  return made;
}

Status MakeTable(BigtableClient* client, const TableInfo& table, int64_t grain_us) {
  admin_api::CreateTableRequest request;
  request.set_parent(client->instance_name());
  request.set_table_id(client->config().prefix + std::string(NameBehind(table.name)));
  request.mutable_table()->set_granularity(grain_us == kUsPerMs ? admin_api::Table::MILLIS
                                                                : admin_api::Table::MICROS);
  for (const StoredFamily& family : table.families) {
    (*request.mutable_table()->mutable_column_families())[family.name] =
        FamilyOf(family, table.mode);
  }
  const RpcStatus made =
      Ask(*client, [&](SteadyTime deadline) { return client->CreateTable(request, deadline); });
  // Another daemon was first, or an answer was lost.
  if (made.ok() || made.code == RpcCode::kAlreadyExists) return {};
  return ErrorOf(made, "table " + table.name);
}

// What a family folds by: 0, it is a plain one.
int FoldingOf(const admin_api::ColumnFamily& family) {
  return family.value_type().aggregate_type().aggregator_case();
}

// Whether the family had that rule before: what the service has since is not this adoption's.
bool HadRule(const TableInfo* before, std::string_view family, const admin_api::GcRule& rule) {
  if (before == nullptr) return false;
  const std::optional<FamilyId> id = before->FindFamily(family);
  return id && IsSameRule(GcRuleOf(before->families[*id].last, before->mode), rule);
}

std::string TextOfRule(const admin_api::GcRule& rule, int depth) {
  constexpr int kDeepest = 3;
  const auto all = [&](const auto& rules, std::string_view between) {
    std::string text;
    for (const admin_api::GcRule& one : rules) {
      if (!text.empty()) text += between;
      text += TextOfRule(one, depth + 1);
    }
    return "(" + text + ")";
  };
  if (rule.has_max_age()) return fmt::format("max_age {} s", rule.max_age().seconds());
  if (rule.has_max_num_versions()) return fmt::format("max_versions {}", rule.max_num_versions());
  if (depth == kDeepest) return "...";
  if (rule.has_union_()) return all(rule.union_().rules(), " or ");
  if (rule.has_intersection()) return all(rule.intersection().rules(), " and ");
  return "nothing goes";
}

}  // namespace

admin_api::Type TypeOf(Aggregate kind) {
  admin_api::Type type;
  auto* const aggregate = type.mutable_aggregate_type();
  aggregate->mutable_input_type()
      ->mutable_int64_type()
      ->mutable_encoding()
      ->mutable_big_endian_bytes();
  if (kind == Aggregate::kMin) {
    aggregate->mutable_min();
  } else if (kind == Aggregate::kMax) {
    aggregate->mutable_max();
  } else {
    aggregate->mutable_sum();
  }
  return type;
}

admin_api::GcRule GcRuleOf(const Family& family, TableMode mode) {
  admin_api::GcRule rule;
  const bool is_latest = mode != TableMode::kHistory;
  const bool both = family.expire_by_both && family.max_versions && family.max_age_us;
  const std::optional<uint32_t> versions =
      is_latest ? std::optional<uint32_t>(1) : family.max_versions;
  // The newest cell of a latest table has expired by both never.
  const std::optional<int64_t> age = is_latest && both ? std::nullopt : family.max_age_us;
  if (!versions && !age) return rule;
  if (versions && age) {
    auto* const rules = both ? rule.mutable_intersection()->mutable_rules()
                             : rule.mutable_union_()->mutable_rules();
    rules->Add()->set_max_num_versions(static_cast<int32_t>(*versions));
    SetAge(*age, rules->Add());
  } else if (versions) {
    rule.set_max_num_versions(static_cast<int32_t>(*versions));
  } else {
    SetAge(*age, &rule);
  }
  return rule;
}

bool IsSameRule(const admin_api::GcRule& a, const admin_api::GcRule& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

std::string TextOf(const admin_api::GcRule& rule) { return TextOfRule(rule, 0); }

Status EnsureTable(BigtableClient* client, const TableInfo& table, const TableInfo* before,
                   int64_t grain_us) {
  admin_api::GetTableRequest wanted;
  wanted.set_name(client->TableName(NameBehind(table.name)));
  wanted.set_view(admin_api::Table::SCHEMA_VIEW);
  admin_api::Table there;
  const auto get = [&](SteadyTime deadline) { return client->GetTable(wanted, &there, deadline); };
  RpcStatus found = Ask(*client, get);
  const bool may_make = client->config().create;
  if (found.code == RpcCode::kNotFound) {
    if (!may_make) {
      return Invalid(
          fmt::format("storage.bigtable.create: is false, and table {} is missing", wanted.name()));
    }
    if (Status made = MakeTable(client, table, grain_us); !made) return made;
    found = Ask(*client, get);
  }
  if (!found.ok()) return ErrorOf(found, "table " + table.name);
  admin_api::ModifyColumnFamiliesRequest request;
  request.set_name(wanted.name());
  for (const StoredFamily& family : table.families) {
    const admin_api::ColumnFamily made = FamilyOf(family, table.mode);
    const auto known = there.column_families().find(family.name);
    const bool is_there = known != there.column_families().end();
    if (is_there && FoldingOf(known->second) != FoldingOf(made)) {
      return Invalid(
          fmt::format("tables.{}.families.{}: on Bigtable the family folds in another "
                      "way, which cannot be changed; accepted: another name",
                      NameBehind(table.name), family.name));
    }
    if (is_there && (IsSameRule(known->second.gc_rule(), made.gc_rule()) ||
                     HadRule(before, family.name, made.gc_rule()))) {
      continue;
    }
    if (!may_make) {
      return Invalid(fmt::format(
          "storage.bigtable.create: is false, and family {} of table {} {}", family.name,
          wanted.name(), is_there ? "has another rule of garbage collection" : "is missing"));
    }
    auto* const change = request.add_modifications();
    change->set_id(family.name);
    *(is_there ? change->mutable_update() : change->mutable_create()) = made;
    if (is_there) change->mutable_update_mask()->add_paths("gc_rule");
  }
  if (request.modifications().empty()) return {};
  const RpcStatus changed = Ask(*client, [&](SteadyTime deadline) {
    return client->ModifyColumnFamilies(request, deadline);
  });
  if (changed.ok() || changed.code == RpcCode::kAlreadyExists) return {};
  return ErrorOf(changed, "the families of table " + table.name);
}

Status RemoveTable(BigtableClient* client, std::string_view name) {
  admin_api::DeleteTableRequest request;
  request.set_name(client->TableName(NameBehind(name)));
  const RpcStatus removed =
      Ask(*client, [&](SteadyTime deadline) { return client->DeleteTable(request, deadline); });
  if (removed.ok() || removed.code == RpcCode::kNotFound) return {};
  return ErrorOf(removed, "table " + std::string(name));
}

}  // namespace tallyd
