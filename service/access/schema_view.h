// SchemaView: what of the schema is there for a principal with a scope: the tables whose row keys
// hold every field of the scope, and of each the rows that are the scope's own. All that reads,
// lists, plans and names what is near takes its tables from here, so that a table that is not there
// is as one that never was.
//
//   Access access = views.Of(live_schema.snapshot(), *request.principal);
//   for (const Table& table : access.schema().tables) ... access.ClampOf(table.name)
//
// Who has no scope has the snapshot itself, and no clamps. Tables that are no longer in the file
// are there for nobody with a scope. Immutable, but for the cache, which is thread-safe.
#ifndef TALLYD_SERVICE_ACCESS_SCHEMA_VIEW_H_
#define TALLYD_SERVICE_ACCESS_SCHEMA_VIEW_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "config/schema/schema.h"
#include "service/access/row_clamp.h"
#include "service/live_schema.h"
#include "service/principal.h"

namespace tallyd {

class SchemaView {
 public:
  SchemaView(std::shared_ptr<const Schema> whole, const Scope& scope,
             std::shared_ptr<const SeriesIndexes> series = nullptr);

  // Every stream, with the tables that are there. It maps no events: those enter all tables.
  const std::shared_ptr<const SchemaSnapshot>& snapshot() const { return snapshot_; }
  // With the tables that are not there: for what is true of the others whoever asks.
  const Schema& whole() const { return *whole_; }
  const Scope& scope() const { return scope_; }
  // Of a table that is not there: the clamp of no row.
  const RowClamp& ClampOf(std::string_view table) const;

 private:
  const std::shared_ptr<const Schema> whole_;
  const Scope scope_;
  std::shared_ptr<const SchemaSnapshot> snapshot_;
  std::map<std::string, RowClamp, std::less<>> clamps_;  // By table.
};

using SchemaViewPtr = std::shared_ptr<const SchemaView>;

// What somebody has of the schema and of its rows.
struct Access {
  std::shared_ptr<const SchemaSnapshot> snapshot;
  SchemaViewPtr view;  // Null: there is no scope; every table, orphaned ones too, and every row.

  const Schema& schema() const { return *snapshot->schema; }
  bool is_scoped() const { return view != nullptr; }
  bool Sees(std::string_view table) const {
    return view == nullptr || schema().FindTable(table) != nullptr;
  }
  // Null: every row of the table.
  const RowClamp* ClampOf(std::string_view table) const {
    return view == nullptr ? nullptr : &view->ClampOf(table);
  }
};

// Makes each view once for a snapshot and a scope.
class SchemaViews {
 public:
  Access Of(std::shared_ptr<const SchemaSnapshot> whole, const Principal& principal) const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_. Views of any other snapshot are let go of.
  mutable std::weak_ptr<const SchemaSnapshot> whole_;
  mutable std::map<Scope, SchemaViewPtr> views_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_SCHEMA_VIEW_H_
