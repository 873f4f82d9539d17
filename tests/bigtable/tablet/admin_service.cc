// The administration of tables: google.bigtable.admin.v2.BigtableTableAdmin.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/bigtable/proto/bigtable_admin.grpc.pb.h"
#include "tests/bigtable/tablet/limits.h"
#include "tests/bigtable/tablet/tablet_state.h"

namespace tallyd::tablet {
namespace {

using google::protobuf::Empty;
using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;

constexpr std::string_view kNameBytes =
    "-_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

Status Invalid(std::string why) { return {StatusCode::INVALID_ARGUMENT, std::move(why)}; }

bool IsName(const std::string& name, size_t bytes_max) {
  return !name.empty() && name.size() <= bytes_max &&
         name.find_first_not_of(kNameBytes) == std::string::npos;
}

Status CheckRule(const admin::GcRule& rule) {
  if (rule.ByteSizeLong() > kGcRuleBytesMax) return Invalid("The GC rule exceeds 500 bytes");
  if (rule.has_max_num_versions() && rule.max_num_versions() < 1) {
    return Invalid("max_num_versions must be positive");
  }
  const auto& age = rule.max_age();
  if (rule.has_max_age() && age.seconds() == 0 && age.nanos() < 1'000'000) {
    return Invalid("max_age must be a millisecond at least");
  }
  const auto& rules = rule.has_union_() ? rule.union_().rules() : rule.intersection().rules();
  for (const admin::GcRule& one : rules) {
    if (Status checked = CheckRule(one); !checked.ok()) return checked;
  }
  return Status::OK;
}

Status ReadFolding(const admin::Type& type, Folding* folding) {
  *folding = Folding::kNone;
  if (!type.has_aggregate_type()) return Status::OK;
  const admin::Type::Aggregate& aggregate = type.aggregate_type();
  if (!aggregate.input_type().has_int64_type()) {
    return Invalid("An aggregate's input_type is int64 here");
  }
  switch (aggregate.aggregator_case()) {
    case admin::Type::Aggregate::kSum:
      *folding = Folding::kSum;
      return Status::OK;
    case admin::Type::Aggregate::kMin:
      *folding = Folding::kMin;
      return Status::OK;
    case admin::Type::Aggregate::kMax:
      *folding = Folding::kMax;
      return Status::OK;
    default:
      return Invalid("This aggregator is none of sum, min, max");
  }
}

Status AddFamily(const std::string& id, const admin::ColumnFamily& definition, StoredTable* table) {
  if (!IsName(id, kFamilyNameBytesMax)) return Invalid("No name of a column family: " + id);
  if (table->families.contains(id)) {
    return {StatusCode::ALREADY_EXISTS, "family \"" + id + "\" already exists"};
  }
  if (Status checked = CheckRule(definition.gc_rule()); !checked.ok()) return checked;
  StoredFamily family;
  if (Status read = ReadFolding(definition.value_type(), &family.folding); !read.ok()) return read;
  family.definition = definition;
  family.serial = table->next_serial++;
  table->families[id] = family;
  return Status::OK;
}

Status UpdateFamily(const admin::ModifyColumnFamiliesRequest::Modification& change,
                    StoredFamily* family) {
  const admin::ColumnFamily& wanted = change.update();
  const auto& paths = change.update_mask().paths();
  const bool all = paths.empty();
  if (std::ranges::count(paths, "value_type") > 0 || (all && wanted.has_value_type())) {
    const std::string stored = family->definition.value_type().SerializeAsString();
    if (wanted.value_type().SerializeAsString() != stored) {
      return Invalid("Immutable fields 'value_type.aggregate_type' cannot be updated");
    }
  }
  if (!all && std::ranges::count(paths, "gc_rule") == 0) return Status::OK;
  if (Status checked = CheckRule(wanted.gc_rule()); !checked.ok()) return checked;
  *family->definition.mutable_gc_rule() = wanted.gc_rule();
  if (!wanted.has_gc_rule()) family->definition.clear_gc_rule();
  return Status::OK;
}

// REQUIRES: the table's mutex is held, or nobody else has it.
admin::Table Describe(const StoredTable& table, bool schema) {
  admin::Table told;
  told.set_name(table.name);
  if (!schema) return told;
  told.set_granularity(table.granularity_us == 1 ? admin::Table::MICROS : admin::Table::MILLIS);
  told.set_deletion_protection(table.deletion_protection);
  for (const auto& [name, family] : table.families) {
    (*told.mutable_column_families())[name] = family.definition;
  }
  return told;
}

bool TellsSchema(admin::Table::View view) {
  return view == admin::Table::SCHEMA_VIEW || view == admin::Table::FULL;
}

class AdminService final : public admin::BigtableTableAdmin::Service {
 public:
  explicit AdminService(TabletState* state) : state_(state) {}

  Status CreateTable(ServerContext* context, const admin::CreateTableRequest* request,
                     admin::Table* response) override {
    CallFate fate(state_, context, {"CreateTable", request->table_id(), {}}, true);
    if (!fate.before().ok()) return fate.before();
    if (!IsName(request->table_id(), kTableNameBytesMax) ||
        request->table_id().find_first_of("-.") == 0) {
      return Invalid("No name of a table: " + request->table_id());
    }
    const auto table = std::make_shared<StoredTable>(
        request->parent() + "/tables/" + request->table_id(),
        request->table().granularity() == admin::Table::MICROS ? 1 : state_->granularity_us());
    const auto& wanted = request->table().column_families();
    for (const auto& [id, family] : std::map(wanted.begin(), wanted.end())) {
      if (Status added = AddFamily(id, family, table.get()); !added.ok()) return added;
    }
    for (const auto& split : request->initial_splits()) {
      if (!split.key().empty()) table->splits.insert(split.key());
    }
    table->deletion_protection = request->table().deletion_protection();
    *response = Describe(*table, true);
    if (!state_->Add(table)) {
      return {StatusCode::ALREADY_EXISTS, "table \"" + table->name + "\" already exists"};
    }
    return fate.End(Status::OK);
  }

  Status ListTables(ServerContext* context, const admin::ListTablesRequest* request,
                    admin::ListTablesResponse* response) override {
    CallFate fate(state_, context, {"ListTables", request->parent(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    for (const auto& table : state_->TablesOf(request->parent())) {
      if (table->name <= request->page_token()) continue;
      if (request->page_size() > 0 && response->tables_size() == request->page_size()) {
        response->set_next_page_token(response->tables().rbegin()->name());
        break;
      }
      const std::scoped_lock lock(table->mutex);
      *response->add_tables() = Describe(*table, TellsSchema(request->view()));
    }
    return Status::OK;
  }

  Status GetTable(ServerContext* context, const admin::GetTableRequest* request,
                  admin::Table* response) override {
    CallFate fate(state_, context, {"GetTable", request->name(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    const auto table = state_->Find(request->name());
    if (table == nullptr) return NoTable(request->name());
    const std::scoped_lock lock(table->mutex);
    *response = Describe(
        *table, request->view() == admin::Table::VIEW_UNSPECIFIED || TellsSchema(request->view()));
    return Status::OK;
  }

  Status DeleteTable(ServerContext* context, const admin::DeleteTableRequest* request,
                     Empty*) override {
    CallFate fate(state_, context, {"DeleteTable", request->name(), {}}, true);
    if (!fate.before().ok()) return fate.before();
    const auto table = state_->Find(request->name());
    if (table == nullptr) return NoTable(request->name());
    {
      const std::scoped_lock lock(table->mutex);
      if (table->deletion_protection) return IsProtected(table->name);
    }
    state_->Remove(request->name());
    return fate.End(Status::OK);
  }

  Status ModifyColumnFamilies(ServerContext* context,
                              const admin::ModifyColumnFamiliesRequest* request,
                              admin::Table* response) override {
    CallFate fate(state_, context, {"ModifyColumnFamilies", request->name(), {}}, true);
    if (!fate.before().ok()) return fate.before();
    const auto table = state_->Find(request->name());
    if (table == nullptr) return NoTable(request->name());
    const std::scoped_lock lock(table->mutex);
    // All of it or nothing: it is tried on a table that nobody sees.
    StoredTable tried(table->name, table->granularity_us);
    tried.families = table->families;
    tried.next_serial = table->next_serial;
    tried.deletion_protection = table->deletion_protection;
    std::vector<int> dropped;
    for (const auto& change : request->modifications()) {
      if (Status made = Modify(change, &tried, &dropped); !made.ok()) return made;
    }
    table->families = std::move(tried.families);
    table->next_serial = tried.next_serial;
    for (const int serial : dropped) Forget(serial, table.get());
    *response = Describe(*table, true);
    return fate.End(Status::OK);
  }

  Status DropRowRange(ServerContext* context, const admin::DropRowRangeRequest* request,
                      Empty*) override {
    CallFate fate(state_, context, {"DropRowRange", request->name(), {}}, true);
    if (!fate.before().ok()) return fate.before();
    const auto table = state_->Find(request->name());
    if (table == nullptr) return NoTable(request->name());
    if (!request->delete_all_data_from_table() && request->row_key_prefix().empty()) {
      return Invalid("A row_key_prefix may not be empty");
    }
    const std::scoped_lock lock(table->mutex);
    table->Drop(request->row_key_prefix());
    return fate.End(Status::OK);
  }

  Status GenerateConsistencyToken(ServerContext* context,
                                  const admin::GenerateConsistencyTokenRequest* request,
                                  admin::GenerateConsistencyTokenResponse* response) override {
    CallFate fate(state_, context, {"GenerateConsistencyToken", request->name(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    if (state_->Find(request->name()) == nullptr) return NoTable(request->name());
    response->set_consistency_token("TokenFor-" + request->name());
    return Status::OK;
  }

  Status CheckConsistency(ServerContext* context, const admin::CheckConsistencyRequest* request,
                          admin::CheckConsistencyResponse* response) override {
    CallFate fate(state_, context, {"CheckConsistency", request->name(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    if (state_->Find(request->name()) == nullptr) return NoTable(request->name());
    if (request->consistency_token() != "TokenFor-" + request->name()) {
      return Invalid("No token of this table");
    }
    response->set_consistent(true);
    return Status::OK;
  }

 private:
  static Status IsProtected(const std::string& name) {
    return {StatusCode::FAILED_PRECONDITION, "table \"" + name + "\" is protected from deletion"};
  }

  static Status Modify(const admin::ModifyColumnFamiliesRequest::Modification& change,
                       StoredTable* table, std::vector<int>* dropped) {
    if (change.has_create()) return AddFamily(change.id(), change.create(), table);
    const auto family = table->families.find(change.id());
    if (family == table->families.end()) {
      return {StatusCode::NOT_FOUND, "Requested column family not found: " + change.id()};
    }
    if (change.has_update()) return UpdateFamily(change, &family->second);
    if (!change.drop()) return Invalid("No modification is set");
    if (table->deletion_protection) return IsProtected(table->name);
    dropped->push_back(family->second.serial);
    table->families.erase(family);
    return Status::OK;
  }

  static void Forget(int serial, StoredTable* table) {
    for (auto row = table->rows.begin(); row != table->rows.end();) {
      row->second.erase(serial);
      row = row->second.empty() ? table->rows.erase(row) : std::next(row);
    }
  }

  TabletState* const state_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(TabletState* state) {
  return std::make_unique<AdminService>(state);
}

}  // namespace tallyd::tablet
