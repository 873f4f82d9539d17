#include "service/access/schema_view.h"

#include <utility>
#include <vector>

namespace tallyd {
namespace {

constexpr size_t kNotThere = static_cast<size_t>(-1);

// The indices of a stream's tables, as `places` has them now.
std::vector<size_t> Placed(const std::vector<size_t>& tables, const std::vector<size_t>& places) {
  std::vector<size_t> placed;
  for (const size_t table : tables) {
    if (places[table] != kNotThere) placed.push_back(places[table]);
  }
  return placed;
}

}  // namespace

SchemaView::SchemaView(std::shared_ptr<const Schema> whole, const Scope& scope,
                       std::shared_ptr<const SeriesIndexes> series)
    : whole_(std::move(whole)), scope_(scope) {
  auto seen = std::make_shared<Schema>();
  std::vector<size_t> places(whole_->tables.size(), kNotThere);
  for (size_t i = 0; i < whole_->tables.size(); ++i) {
    const Table& table = whole_->tables[i];
    const Stream* const stream = whole_->FindStream(table.stream);
    if (stream == nullptr || !RowClamp::IsHeldBy(table.row_key, scope_)) continue;
    places[i] = seen->tables.size();
    seen->tables.push_back(table);
    clamps_.emplace(table.name, RowClamp(table.row_key, scope_, stream->unit));
  }
  for (const Stream& stream : whole_->streams) {
    seen->streams.push_back(stream);
    seen->streams.back().tables = Placed(stream.tables, places);
  }
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = std::move(seen);
  snapshot->series = std::move(series);
  snapshot_ = std::move(snapshot);
}

const RowClamp& SchemaView::ClampOf(std::string_view table) const {
  static const RowClamp kNoRow;
  const auto found = clamps_.find(table);
  return found == clamps_.end() ? kNoRow : found->second;
}

Access SchemaViews::Of(std::shared_ptr<const SchemaSnapshot> whole,
                       const Principal& principal) const {
  if (!principal.is_scoped() || whole == nullptr) return {std::move(whole), nullptr};
  const std::lock_guard lock(mutex_);
  if (whole_.lock() != whole) {
    views_.clear();
    whole_ = whole;
  }
  SchemaViewPtr& view = views_[principal.scope];
  if (view == nullptr) {
    view = std::make_shared<SchemaView>(whole->schema, principal.scope, whole->series);
  }
  return {view->snapshot(), view};
}

}  // namespace tallyd
