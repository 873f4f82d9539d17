#include "storage/bigtable/catalogue/table_admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

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
  const RpcStatus made = CallUntilAnswered(
      client, [&](SteadyTime deadline) { return client->CreateTable(request, deadline); });
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

// Beyond these something goes: beyond either, or beyond both.
struct Bounds {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t age_us = kNone;
  int64_t versions = kNone;
  bool both = false;
  bool forgets() const { return age_us != kNone || versions != kNone; }
};

bool AddBound(const admin_api::GcRule& rule, Bounds* bounds) {
  if (rule.has_max_num_versions()) {
    bounds->versions = std::min<int64_t>(bounds->versions, rule.max_num_versions());
    return true;
  }
  if (!rule.has_max_age()) return false;
  constexpr int64_t kMostSeconds = kMaxTimeUs / kUsPerSecond;
  const int64_t seconds = std::clamp<int64_t>(rule.max_age().seconds(), 0, kMostSeconds);
  bounds->age_us = std::min(bounds->age_us, seconds * kUsPerSecond + rule.max_age().nanos() / 1000);
  return true;
}

// Nothing: it is none that tallyd makes.
std::optional<Bounds> BoundsOf(const admin_api::GcRule& rule) {
  Bounds bounds;
  bounds.both = rule.has_intersection();
  if (!bounds.both && !rule.has_union_()) {
    const bool is_known = IsSameRule(rule, {}) || AddBound(rule, &bounds);
    return is_known ? std::optional(bounds) : std::nullopt;
  }
  const auto& rules = bounds.both ? rule.intersection().rules() : rule.union_().rules();
  // Of several of one kind that all must hold the greatest counts: nobody makes these.
  if (bounds.both && (rules.size() != 2 || rules[0].rule_case() == rules[1].rule_case())) {
    return std::nullopt;
  }
  for (const admin_api::GcRule& one : rules) {
    if (!AddBound(one, &bounds)) return std::nullopt;
  }
  return bounds;
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

// Of several rules the order says nothing: whoever made the family may have named them in another.
admin_api::GcRule InOrder(const admin_api::GcRule& rule) {
  admin_api::GcRule ordered = rule;
  auto* const rules = rule.has_union_()         ? ordered.mutable_union_()->mutable_rules()
                      : rule.has_intersection() ? ordered.mutable_intersection()->mutable_rules()
                                                : nullptr;
  if (rules == nullptr) return ordered;
  std::sort(rules->begin(), rules->end(), [](const auto& one, const auto& other) {
    return one.SerializeAsString() < other.SerializeAsString();
  });
  return ordered;
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
  return InOrder(a).SerializeAsString() == InOrder(b).SerializeAsString();
}

std::string TextOf(const admin_api::GcRule& rule) { return TextOfRule(rule, 0); }

bool MayForgetMore(const admin_api::GcRule& rule, const admin_api::GcRule& other) {
  const std::optional<Bounds> mine = BoundsOf(rule);
  const std::optional<Bounds> theirs = BoundsOf(other);
  if (!mine || !theirs) return true;
  const bool by_age = mine->age_us < theirs->age_us;
  const bool by_versions = mine->versions < theirs->versions;
  // What goes only by both goes by either of the other's, if that goes no later.
  if (mine->both && !theirs->both) return by_age && by_versions;
  const bool is_looser = mine->both == theirs->both || !mine->forgets();
  return by_age || by_versions || !is_looser;
}

namespace {

// False: another daemon changed its families meanwhile, and nothing was.
Result<bool> TryToEnsure(BigtableClient* client, const TableInfo& table, const TableInfo* before,
                         const EnsureOptions& options) {
  admin_api::GetTableRequest wanted;
  wanted.set_name(client->TableName(NameBehind(table.name)));
  wanted.set_view(admin_api::Table::SCHEMA_VIEW);
  admin_api::Table there;
  const auto get = [&](SteadyTime deadline) { return client->GetTable(wanted, &there, deadline); };
  RpcStatus found = CallUntilAnswered(client, get);
  const bool may_make = client->config().create;
  if (found.code == RpcCode::kNotFound) {
    if (!may_make) {
      return Invalid(
          fmt::format("storage.bigtable.create: is false, and table {} is missing", wanted.name()));
    }
    if (Status made = MakeTable(client, table, options.grain_us); !made) {
      return made.error();
    }
    found = CallUntilAnswered(client, get);
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
    if (is_there && !options.may_forget_more &&
        MayForgetMore(made.gc_rule(), known->second.gc_rule())) {
      continue;
    }
    auto* const change = request.add_modifications();
    change->set_id(family.name);
    *(is_there ? change->mutable_update() : change->mutable_create()) = made;
    if (is_there) change->mutable_update_mask()->add_paths("gc_rule");
  }
  if (request.modifications().empty()) return true;
  const RpcStatus changed = CallUntilAnswered(
      client, [&](SteadyTime deadline) { return client->ModifyColumnFamilies(request, deadline); });
  if (changed.ok()) return true;
  // All of the request is done or nothing, so what else it makes may be missing still.
  if (changed.code == RpcCode::kAlreadyExists) return false;
  return ErrorOf(changed, "the families of table " + table.name);
}

}  // namespace

Status EnsureTable(BigtableClient* client, const TableInfo& table, const TableInfo* before,
                   const EnsureOptions& options) {
  constexpr int kEnsureTries = 5;
  for (int i = 0; i < kEnsureTries; ++i) {
    const Result<bool> ensured = TryToEnsure(client, table, before, options);
    if (!ensured) return ensured.error();
    if (*ensured) return {};
  }
  return Error(ErrorCode::kUnavailable,
               "other daemons change the families of table " + table.name + "; try again");
}

Result<bool> HasTable(BigtableClient* client, std::string_view name) {
  admin_api::GetTableRequest wanted;
  wanted.set_name(client->TableName(name));
  wanted.set_view(admin_api::Table::NAME_ONLY);
  admin_api::Table there;
  const RpcStatus found = CallUntilAnswered(
      client, [&](SteadyTime deadline) { return client->GetTable(wanted, &there, deadline); });
  if (found.code == RpcCode::kNotFound) return false;
  if (!found.ok()) return ErrorOf(found, "table " + std::string(name));
  return true;
}

Status RemoveTable(BigtableClient* client, std::string_view name) {
  admin_api::DeleteTableRequest request;
  request.set_name(client->TableName(NameBehind(name)));
  const RpcStatus removed = CallUntilAnswered(
      client, [&](SteadyTime deadline) { return client->DeleteTable(request, deadline); });
  if (removed.ok() || removed.code == RpcCode::kNotFound) return {};
  return ErrorOf(removed, "table " + std::string(name));
}

}  // namespace tallyd
