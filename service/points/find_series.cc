#include "service/points/find_series.h"

#include <iterator>
#include <set>
#include <utility>

#include "service/points/metrics.h"
#include "service/query/run/key_values.h"

namespace tallyd {

Result<PointSet> FindSeries(SeriesQuestion question, const Access& access, const ReadParts& parts,
                            const ReadMemoryPtr& memory) {
  question.time = {};
  question.rate.reset();
  const bool has_latest = FindLatest(access.schema(), question.metric, parts.store) != nullptr;
  question.newest = has_latest;
  question.downsample.reset();
  // One step of all times: where columns lie side by side, they are counted and not looked at.
  if (!has_latest) {
    question.downsample = {SeriesSteps::Of(kMaxTimeUs + 1), SeriesAggregation::kCount, {}};
  }
  return ReadSeries(question, access, parts, memory);
}

Result<std::vector<std::string>> ValuesOfTags(std::string_view prefix, size_t limit,
                                              const Access& access, const ReadParts& parts,
                                              const ReadMemoryPtr& memory) {
  std::set<std::string> values;
  for (const Stream& stream : access.schema().streams) {
    const StreamFields known(access.schema(), stream, parts.store);
    for (const std::string& tag : TagsOf(access.schema(), stream, known)) {
      const Result<const Table*> table = TableOfValues(access.schema(), stream, known, tag);
      if (!table) continue;
      KeyValuesQuery query;
      query.table = *table;
      query.clamp = access.ClampOf((*table)->name);
      query.unit = stream.unit;
      query.field = tag;
      query.prefix = prefix;
      query.limit = limit;
      Result<KeyValues> found = ReadKeyValues(query, parts.store, parts.clock.Now(), memory);
      if (!found) return found.error();
      parts.metrics.rows_read.Increment(static_cast<double>(found->rows_read));
      for (KeyValue& value : found->values) values.insert(std::move(value.text));
      while (values.size() > limit) values.erase(std::prev(values.end()));
    }
  }
  return std::vector<std::string>(values.begin(), values.end());
}

}  // namespace tallyd
