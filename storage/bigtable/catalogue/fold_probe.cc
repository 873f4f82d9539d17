#include "storage/bigtable/catalogue/fold_probe.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "storage/bigtable/catalogue/table_admin.h"
#include "storage/bigtable/read/row_stream.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr std::string_view kSumFamily = "fs";
constexpr std::string_view kMaxFamily = "fx";
constexpr std::string_view kFoldedColumn = "n";
constexpr int64_t kInput = 5;
constexpr int64_t kLess = 3;

class FoldProbe {
 public:
  explicit FoldProbe(BigtableClient* client)
      : client_(*client),
        table_(client->TableName(kCatalogueTable)),
        deadline_(client->NewDeadline()) {}

  Result<FoldTraits> Find() {
    const Result<bool> has_families = HasFamilies();
    if (!has_families) return has_families.error();
    if (!*has_families) {
      if (!client_.config().create) {
        return Invalid(fmt::format("storage.bigtable.create: is false, and table {} has no "
                                   "families {} (sum) and {} (max), by which it is found out how "
                                   "the service folds",
                                   table_, kSumFamily, kMaxFamily));
      }
      if (RpcStatus made = MakeFamilies(); !made.ok() && made.code != RpcCode::kAlreadyExists) {
        if (IsPassing(made)) return ErrorOf(made, table_);
        return FoldTraits{.why = made.message};
      }
      const Result<bool> are_there = HasFamilies();
      if (!are_there) return are_there.error();
      if (!*are_there) return FoldTraits{.why = "it makes plain ones in their place"};
    }
    return Try();
  }

 private:
  // As such: an emulator may make plain ones.
  Result<bool> HasFamilies() {
    admin_api::GetTableRequest wanted;
    wanted.set_name(table_);
    wanted.set_view(admin_api::Table::SCHEMA_VIEW);
    admin_api::Table there;
    const RpcStatus found = CallUntilAnswered(
        &client_, [&](SteadyTime deadline) { return client_.GetTable(wanted, &there, deadline); });
    if (!found.ok()) return ErrorOf(found, table_);
    for (const std::string_view family : {kSumFamily, kMaxFamily}) {
      const auto known = there.column_families().find(std::string(family));
      if (known == there.column_families().end()) return false;
      if (!known->second.value_type().has_aggregate_type()) return false;
    }
    return true;
  }

  RpcStatus MakeFamilies() {
    admin_api::ModifyColumnFamiliesRequest request;
    request.set_name(table_);
    for (const auto& [family, kind] : {std::pair(kSumFamily, Aggregate::kSum),
                                       std::pair(kMaxFamily, Aggregate::kMax)}) {
      auto* const change = request.add_modifications();
      change->set_id(std::string(family));
      change->mutable_create()->mutable_gc_rule()->set_max_num_versions(1);
      *change->mutable_create()->mutable_value_type() = TypeOf(kind);
    }
    return CallUntilAnswered(&client_, [&](SteadyTime deadline) {
      return client_.ModifyColumnFamilies(request, deadline);
    });
  }

  static void Add(std::string_view family, int64_t input, CatalogueEntry* entry) {
    auto* const add = entry->add_mutations()->mutable_add_to_cell();
    add->set_family_name(std::string(family));
    add->mutable_column_qualifier()->set_raw_value(std::string(kFoldedColumn));
    add->mutable_timestamp()->set_raw_timestamp_micros(0);
    add->mutable_input()->set_int_value(input);
  }

  // One call, once.
  RpcStatus Send(const CatalogueEntry& entry) {
    std::vector<MutateRowsTry> tries(1);
    tries[0].request.set_table_name(table_);
    tries[0].request.set_app_profile_id(client_.config().app_profile);
    *tries[0].request.add_entries() = entry;
    const Retry retry(client_.ending(), deadline_);
    client_.MutateRows(tries, retry.attempt_deadline(client_.config().attempt_us));
    return tries[0].ended.front();
  }

  // What went wrong on the way tells nothing: then it is all done anew, in another row.
  Result<FoldTraits> Try() {
    Retry retry(client_.ending(), deadline_);
    RpcStatus ended;
    do {
      CatalogueEntry entry;
      std::random_device random;
      entry.set_row_key(fmt::format("p/fold-{:08x}{:08x}", random(), random()));
      Add(kSumFamily, kInput, &entry);
      Add(kMaxFamily, kInput, &entry);
      entry.mutable_idempotency()->set_token(entry.row_key());
      ended = Send(entry);
      if (ended.ok()) {
        entry.mutable_mutations(1)->mutable_add_to_cell()->mutable_input()->set_int_value(kLess);
        ended = Send(entry);
      }
      if (ended.ok()) {
        // Without a token it is compared with what is there.
        CatalogueEntry less;
        less.set_row_key(entry.row_key());
        Add(kMaxFamily, kLess, &less);
        ended = Send(less);
      }
      if (ended.ok()) return Read(entry.row_key());
      if (!IsPassing(ended)) return FoldTraits{.why = ended.message};
    } while (retry.MayTryAgain(ended));
    return ErrorOf(ended, table_);
  }

  Result<FoldTraits> Read(const std::string& row) {
    RowsQuery query;
    query.table = table_;
    query.ranges = {RangeOfKey(row)};
    query.expected = 1;
    query.limits.deadline = deadline_;
    RowStream stream(&client_, std::move(query));
    const Result<bool> more = stream.Next();
    if (!more) return more.error();
    std::map<std::string, std::string> states;
    if (*more) {
      for (const WireCell& cell : stream.row().cells) states[std::string(cell.family)] = cell.value;
    }
    const std::string& sum = states[std::string(kSumFamily)];
    FoldTraits traits;
    traits.takes_tokens = sum == StateOf(kInput);
    traits.adds = traits.takes_tokens || sum == StateOf(2 * kInput);
    traits.compares = states[std::string(kMaxFamily)] == StateOf(kInput);
    CatalogueEntry gone;
    gone.set_row_key(row);
    gone.add_mutations()->mutable_delete_from_row();
    (void)Send(gone);  // What stays of it says nothing to anybody.
    return traits;
  }

  static std::string StateOf(int64_t number) {
    std::string bytes(7, '\0');
    bytes.push_back(static_cast<char>(number));
    return bytes;
  }

  BigtableClient& client_;
  const std::string table_;
  const SteadyTime deadline_;
};

}  // namespace

Result<FoldTraits> FindFoldTraits(BigtableClient* client) { return FoldProbe(client).Find(); }

}  // namespace tallyd
