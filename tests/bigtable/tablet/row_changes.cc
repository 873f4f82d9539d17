#include "tests/bigtable/tablet/row_changes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/bigtable/tablet/limits.h"

namespace tallyd::tablet {
namespace {

grpc::Status Invalid(const std::string& why) { return {grpc::StatusCode::INVALID_ARGUMENT, why}; }

grpc::Status InElement(int index, const grpc::Status& status) {
  if (status.ok()) return status;
  return {status.error_code(), "Error in Mutation list : Error in element #" +
                                   std::to_string(index) + " : " + status.error_message()};
}

grpc::Status CheckTime(const StoredTable& table, int64_t time_us, bool may_be_now) {
  if (time_us == -1 && may_be_now) return grpc::Status::OK;
  if (time_us < 0) return Invalid("Timestamps may not be negative");
  if (time_us % table.granularity_us == 0) return grpc::Status::OK;
  return Invalid(
      "Timestamp granularity mismatch. Expected a multiple of 1000 (millisecond granularity), but "
      "got " +
      std::to_string(time_us) + ".");
}

grpc::Status CheckFamily(const StoredTable& table, const std::string& name, bool folds) {
  const auto found = table.families.find(name);
  if (found == table.families.end()) {
    return {grpc::StatusCode::NOT_FOUND, "Error while mutating the row of table '" + table.name +
                                             "' : Requested column family not found: " + name};
  }
  if ((found->second.folding != Folding::kNone) != folds) {
    return Invalid("The type of column family " + name + " does not take this mutation");
  }
  return grpc::Status::OK;
}

grpc::Status CheckQualifier(const std::string& qualifier) {
  if (qualifier.size() <= kQualifierBytesMax) return grpc::Status::OK;
  return Invalid("Column qualifier exceeds maximum size of 16384 bytes");
}

grpc::Status CheckSet(const StoredTable& table, const v2::Mutation::SetCell& set) {
  if (grpc::Status found = CheckFamily(table, set.family_name(), false); !found.ok()) return found;
  if (grpc::Status fits = CheckQualifier(set.column_qualifier()); !fits.ok()) return fits;
  if (set.value().size() > kValueBytesMax) return Invalid("Value exceeds 100 MiB");
  return CheckTime(table, set.timestamp_micros(), true);
}

template <class Fold>
grpc::Status CheckFold(const StoredTable& table, const Fold& fold, bool input_fits) {
  if (grpc::Status found = CheckFamily(table, fold.family_name(), true); !found.ok()) return found;
  if (!fold.column_qualifier().has_raw_value()) return Invalid("column_qualifier is a raw_value");
  if (!fold.timestamp().has_raw_timestamp_micros()) {
    return Invalid("timestamp is raw_timestamp_micros");
  }
  if (!input_fits) return Invalid("input does not fit the aggregate's type");
  if (grpc::Status fits = CheckQualifier(fold.column_qualifier().raw_value()); !fits.ok()) {
    return fits;
  }
  return CheckTime(table, fold.timestamp().raw_timestamp_micros(), false);
}

grpc::Status CheckDelete(const StoredTable& table, const v2::Mutation::DeleteFromColumn& erase) {
  if (!table.families.contains(erase.family_name())) {
    return CheckFamily(table, erase.family_name(), false);
  }
  const int64_t from = erase.time_range().start_timestamp_micros();
  const int64_t to = erase.time_range().end_timestamp_micros();
  if (grpc::Status time = CheckTime(table, from, false); !time.ok()) return time;
  if (grpc::Status time = CheckTime(table, to, false); !time.ok()) return time;
  if (to != 0 && from >= to) return Invalid("time_range ends before it begins");
  return grpc::Status::OK;
}

grpc::Status CheckMutation(const StoredTable& table, const v2::Mutation& mutation) {
  switch (mutation.mutation_case()) {
    case v2::Mutation::kSetCell:
      return CheckSet(table, mutation.set_cell());
    case v2::Mutation::kAddToCell:
      return CheckFold(table, mutation.add_to_cell(),
                       mutation.add_to_cell().input().has_int_value());
    case v2::Mutation::kMergeToCell:
      return CheckFold(table, mutation.merge_to_cell(),
                       mutation.merge_to_cell().input().raw_value().size() == 8);
    case v2::Mutation::kDeleteFromColumn:
      return CheckDelete(table, mutation.delete_from_column());
    case v2::Mutation::kDeleteFromFamily: {
      const std::string& name = mutation.delete_from_family().family_name();
      if (table.families.contains(name)) return grpc::Status::OK;
      return CheckFamily(table, name, false);
    }
    case v2::Mutation::kDeleteFromRow:
      return grpc::Status::OK;
    default:
      return Invalid("No mutation is set");
  }
}

int64_t Folded(Folding how, int64_t stored, int64_t input) {
  switch (how) {
    case Folding::kMin:
      return std::min(stored, input);
    case Folding::kMax:
      return std::max(stored, input);
    default:  // A sum wraps around.
      return static_cast<int64_t>(static_cast<uint64_t>(stored) + static_cast<uint64_t>(input));
  }
}

template <class Fold>
void ApplyFold(const StoredTable& table, const Fold& fold, int64_t input, StoredRow* row) {
  const StoredFamily& family = table.families.at(fold.family_name());
  Versions& versions = (*row)[family.serial][fold.column_qualifier().raw_value()];
  const auto [cell, is_new] =
      versions.try_emplace(fold.timestamp().raw_timestamp_micros(), PutInt64(input));
  if (!is_new) cell->second = PutInt64(Folded(family.folding, GetInt64(cell->second), input));
}

void ApplyDelete(const StoredTable& table, const v2::Mutation::DeleteFromColumn& erase,
                 StoredRow* row) {
  const auto columns = row->find(table.families.at(erase.family_name()).serial);
  if (columns == row->end()) return;
  const auto column = columns->second.find(erase.column_qualifier());
  if (column == columns->second.end()) return;
  const int64_t from = erase.time_range().start_timestamp_micros();
  const int64_t to = erase.time_range().end_timestamp_micros();
  std::erase_if(column->second, [&](const auto& cell) {
    return cell.first >= from && (to == 0 || cell.first < to);
  });
  if (column->second.empty()) columns->second.erase(column);
  if (columns->second.empty()) row->erase(columns);
}

void ApplyMutation(const StoredTable& table, const v2::Mutation& mutation, int64_t now_us,
                   bool fold, StoredRow* row) {
  switch (mutation.mutation_case()) {
    case v2::Mutation::kSetCell: {
      const v2::Mutation::SetCell& set = mutation.set_cell();
      const int64_t time =
          set.timestamp_micros() == -1 ? now_us / kMillisUs * kMillisUs : set.timestamp_micros();
      const int serial = table.families.at(set.family_name()).serial;
      (*row)[serial][set.column_qualifier()][time] = set.value();
      break;
    }
    case v2::Mutation::kAddToCell:
      if (!fold) break;
      ApplyFold(table, mutation.add_to_cell(), mutation.add_to_cell().input().int_value(), row);
      break;
    case v2::Mutation::kMergeToCell:
      if (!fold) break;
      ApplyFold(table, mutation.merge_to_cell(),
                GetInt64(mutation.merge_to_cell().input().raw_value()), row);
      break;
    case v2::Mutation::kDeleteFromColumn:
      ApplyDelete(table, mutation.delete_from_column(), row);
      break;
    case v2::Mutation::kDeleteFromFamily:
      row->erase(table.families.at(mutation.delete_from_family().family_name()).serial);
      break;
    default:
      row->clear();
      break;
  }
}

bool Folds(const Mutations& mutations) {
  return std::ranges::any_of(mutations, [](const v2::Mutation& one) {
    return one.has_add_to_cell() || one.has_merge_to_cell();
  });
}

}  // namespace

grpc::Status CheckRowKey(const std::string& key) {
  if (key.empty()) return Invalid("Row keys must be non-empty");
  if (key.size() > kRowKeyBytesMax) return Invalid("Row key exceeds maximum size of 4096 bytes");
  return grpc::Status::OK;
}

grpc::Status CheckMutations(const StoredTable& table, const Mutations& mutations) {
  for (int i = 0; i < mutations.size(); ++i) {
    const grpc::Status status = InElement(i, CheckMutation(table, mutations.Get(i)));
    if (!status.ok()) return status;
  }
  return grpc::Status::OK;
}

void ApplyMutations(StoredTable* table, const std::string& key, const Mutations& mutations,
                    int64_t now_us, bool fold) {
  const auto row = table->rows.try_emplace(key).first;
  for (const v2::Mutation& mutation : mutations) {
    ApplyMutation(*table, mutation, now_us, fold, &row->second);
  }
  if (row->second.empty()) table->rows.erase(row);
}

grpc::Status MutateOneRow(StoredTable* table, const std::string& key, const Mutations& mutations,
                          const v2::Idempotency* idempotency, int64_t now_us) {
  if (grpc::Status fits = CheckRowKey(key); !fits.ok()) return fits;
  if (mutations.empty()) return Invalid("No mutations provided");
  if (grpc::Status checked = CheckMutations(*table, mutations); !checked.ok()) return checked;
  bool fold = true;
  if (idempotency != nullptr && Folds(mutations)) {
    if (idempotency->token().size() < kTokenBytesMin) return Invalid("The token is too short");
    int64_t& used = table->tokens.try_emplace({key, idempotency->token()}, 0).first->second;
    fold = used == 0 || now_us - used >= kTokenLifeUs;
    if (fold) used = now_us;
  }
  ApplyMutations(table, key, mutations, now_us, fold);
  return grpc::Status::OK;
}

grpc::Status ReadModifyWrite(StoredTable* table, const v2::ReadModifyWriteRowRequest& request,
                             int64_t now_us, v2::Row* answer) {
  if (grpc::Status fits = CheckRowKey(request.row_key()); !fits.ok()) return fits;
  if (request.rules().empty()) return Invalid("No rules provided");
  // Families by serial, columns by qualifier: each with the cell that it has then.
  std::map<std::pair<int, std::string>, std::pair<int64_t, std::string>> touched;
  const auto row = table->rows.find(request.row_key());
  for (const v2::ReadModifyWriteRule& rule : request.rules()) {
    const grpc::Status found = CheckFamily(*table, rule.family_name(), false);
    if (!found.ok()) return found;
    const int serial = table->families.at(rule.family_name()).serial;
    const auto [cell, is_new] = touched.try_emplace({serial, rule.column_qualifier()});
    auto& [time, value] = cell->second;
    if (is_new && row != table->rows.end() && row->second.contains(serial) &&
        row->second.at(serial).contains(rule.column_qualifier())) {
      std::tie(time, value) = *row->second.at(serial).at(rule.column_qualifier()).begin();
    }
    time = std::max(time, now_us / kMillisUs * kMillisUs);
    if (rule.has_append_value()) {
      value += rule.append_value();
    } else if (value.empty() || value.size() == 8) {
      value = PutInt64(
          Folded(Folding::kSum, value.empty() ? 0 : GetInt64(value), rule.increment_amount()));
    } else {
      return Invalid("increment on a value that is not of 8 bytes");
    }
  }
  answer->set_key(request.row_key());
  StoredRow& stored = table->rows[request.row_key()];
  int last_serial = -1;
  for (const auto& [column, cell] : touched) {
    stored[column.first][column.second][cell.first] = cell.second;
    if (column.first != last_serial) answer->add_families()->set_name(*table->NameOf(column.first));
    last_serial = column.first;
    v2::Column* const told = answer->mutable_families()->rbegin()->add_columns();
    told->set_qualifier(column.second);
    v2::Cell* const newest = told->add_cells();
    newest->set_timestamp_micros(cell.first);
    newest->set_value(cell.second);
  }
  return grpc::Status::OK;
}

}  // namespace tallyd::tablet
