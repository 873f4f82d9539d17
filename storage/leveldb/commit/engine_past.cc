#include "storage/leveldb/commit/engine_past.h"

#include <algorithm>
#include <vector>

#include "storage/leveldb/env/status.h"
#include "storage/leveldb/read/table_scan.h"

namespace tallyd {
namespace {

// Behind the newest time of a latest table's row.
TimeUs EndOfRow(const StoredRow& row) {
  std::vector<Layer> layers;
  const bool decoded = DecodeLatest(row.value(), &layers) && !layers.empty();
  return decoded ? layers.front().time + 1 : kNeverWhole;
}

}  // namespace

bool EnginePast::FailsToRead(Head& head, TableId table, const UseEntry& use) const {
  const std::string end = TableEnd(KeySpace::kRows, table);
  const auto it = Database::NewIterator(&head.db());
  for (it->Seek(ToSlice(TablePrefix(KeySpace::kRows, table)));
       it->Valid() && ToView(it->key()) < end; it->Next()) {
    EntryKey entry;
    if (!ParseEntryKey(ToView(it->key()), &entry)) return true;
    if (!use(entry)) return false;
  }
  return !it->status().ok();
}

bool EnginePast::HasEntries(TableId table) const {
  if (!view_->FilesOf(table).empty()) return true;
  return std::any_of(view_->heads.begin(), view_->heads.end(), [&](const auto& head) {
    bool found = false;
    const bool failed = FailsToRead(*head, table, [&](const EntryKey&) {
      found = true;
      return false;
    });
    return found || failed;
  });
}

// What deletes hide is there for a while.
bool EnginePast::ShowsARow(const TableInfo& table) const {
  const bool is_history = table.mode == TableMode::kHistory;
  const auto latest = state_->latest_deletes.Of(table.id);
  const DeleteList& deletes = is_history ? view_->DeletesOf(table.id) : *latest;
  const auto stored = std::find_if(tables_.begin(), tables_.end(),
                                   [&](const TablePtr& each) { return each->id == table.id; });
  if (deletes.empty() || stored == tables_.end()) return true;
  ScanSpec spec;
  spec.keys_only = true;
  if (!is_history) {
    const Result<bool> more =
        LatestScan(*stored, spec, state_->sets, state_->latest, latest).Next();
    return !more || *more;
  }
  Result<std::unique_ptr<Lease>> lease = database_->NewLease();
  if (!lease) return true;
  const Result<bool> more =
      HistoryScan(*stored, spec, state_->sets, std::move(*lease), deletes).Next();
  return !more || *more;
}

bool EnginePast::IsEmpty(const TableInfo& table) {
  if (view_ == nullptr) return false;
  const bool has_any = table.mode == TableMode::kHistory ? HasEntries(table.id)
                                                         : state_->latest.RowsOf(table.id) > 0;
  return !has_any || !ShowsARow(table);
}

TimeUs EnginePast::EndOf(const TableInfo& table) {
  if (view_ == nullptr) return kNeverWhole;
  if (IsEmpty(table)) return 0;
  TimeUs end = 0;
  if (table.mode != TableMode::kHistory) {
    const LatestRows& rows = state_->latest.Of(table.id);
    for (auto at = rows.begin(); at < rows.end(); at = rows.Next(at)) {
      end = std::max(end, EndOfRow(rows.At(at)));
    }
    return end;
  }
  for (const BlockFilePtr& file : view_->FilesOf(table.id)) {
    end = std::max(end, file->info().max_time + 1);
  }
  for (const auto& head : view_->heads) {
    if (const std::optional<TimeRange> times = head->TimesOf(table.id)) {
      end = std::max(end, times->to);
      continue;
    }
    const bool failed = FailsToRead(*head, table.id, [&](const EntryKey& entry) {
      end = std::max(end, entry.time + 1);
      return true;
    });
    if (failed) return kNeverWhole;
  }
  return end;
}

bool EnginePast::TookSince(const TableInfo& table, uint64_t sequence) {
  if (state_->last_sequence <= sequence) return false;
  if (view_ == nullptr) return true;
  // A late event leaves no trace in a latest table.
  if (table.mode != TableMode::kHistory) return state_->latest.RowsOf(table.id) > 0;
  for (const BlockFilePtr& file : view_->FilesOf(table.id)) {
    if (file->info().max_sequence > sequence) return true;
  }
  return std::any_of(view_->heads.begin(), view_->heads.end(), [&](const auto& head) {
    bool found = false;
    const bool failed = FailsToRead(*head, table.id, [&](const EntryKey& entry) {
      found = entry.sequence > sequence;
      return !found;
    });
    return found || failed;
  });
}

}  // namespace tallyd
