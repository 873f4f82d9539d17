// LiveSchema: the schema in force. It and what was compiled from it are one immutable snapshot that
// a reload replaces: whoever does something keeps the snapshot that it began with.
//
// Thread-safe.
#ifndef TALLYD_SERVICE_LIVE_SCHEMA_H_
#define TALLYD_SERVICE_LIVE_SCHEMA_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/access/scope_fields.h"
#include "config/lint/finding.h"
#include "config/schema/schema.h"
#include "config/values/result.h"
#include "ingest/map/mapper.h"

namespace tallyd {

struct SeriesIndexes;

struct SchemaSnapshot {
  std::shared_ptr<const Schema> schema;
  std::map<std::string, std::unique_ptr<Mapper>, std::less<>> mappers;  // By stream.
  ScopeFields scope_fields;           // Of the tokens that came with it.
  std::vector<LintFinding> findings;  // What lint finds in the schema, without the data.
  // Null: of no table (service/series/series_keeper.h).
  std::shared_ptr<const SeriesIndexes> series = nullptr;
};

// The stream of that name; kNotFound names those that there are, or the nearest.
Result<const Stream*> FindStream(const Schema& schema, std::string_view name);

class LiveSchema {
 public:
  LiveSchema() = default;
  LiveSchema(const LiveSchema&) = delete;
  LiveSchema& operator=(const LiveSchema&) = delete;

  // Null before the first was set.
  std::shared_ptr<const SchemaSnapshot> snapshot() const { return std::atomic_load(&snapshot_); }
  void Set(std::shared_ptr<const SchemaSnapshot> snapshot);

  // The shapes of every stream that was ever configured: they outlive reloads, as connections keep
  // pointers to them.
  ShapeRegistry& ShapesOf(std::string_view stream);

 private:
  std::shared_ptr<const SchemaSnapshot> snapshot_;  // Read and set atomically.
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::unique_ptr<ShapeRegistry>, std::less<>> shapes_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIVE_SCHEMA_H_
