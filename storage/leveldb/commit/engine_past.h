// EnginePast: what the tables of a schema that is adopted hold (catalogue/adoption.h), from the
// records of block files, what heads remember of themselves, and the heads' entries where they do
// not: those that an earlier process wrote. Of the committer's thread, between two commits.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_PAST_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_PAST_H_

#include <functional>
#include <string_view>
#include <vector>

#include "storage/leveldb/catalogue/adoption.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/commit/engine_state.h"

namespace tallyd {

class EnginePast final : public StoredPast {
 public:
  // All outlive it.
  EnginePast(Database* database, EngineState* state, TimeUs now)
      : database_(database),
        state_(state),
        tables_(state->catalogue.Tables()),
        view_(database->view()),
        now_(now) {}

  uint64_t sequence() const override { return state_->last_sequence; }
  TimeUs now() const override { return now_; }
  bool EverTook(std::string_view stream) override { return !state_->fields.Fields(stream).empty(); }
  bool IsEmpty(const TableInfo& table) override;
  TimeUs EndOf(const TableInfo& table) override;
  bool TookSince(const TableInfo& table, uint64_t sequence) override;

 private:
  using UseEntry = std::function<bool(const EntryKey& entry)>;
  // Calls `use` for the table's entries in a head until it returns false. True where a head cannot
  // be read: then nothing is known.
  bool FailsToRead(Head& head, TableId table, const UseEntry& use) const;
  bool HasEntries(TableId table) const;
  bool ShowsARow(const TableInfo& table) const;

  Database* const database_;
  EngineState* const state_;
  const std::vector<TablePtr> tables_;
  const ViewPtr view_;
  const TimeUs now_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_PAST_H_
