// Metrics: the names by which the fields of all streams are metrics. A field of the protocol's own
// stream is one by its name; a field of any other stream as STREAM.FIELD, where bytes outside
// A-Za-z0-9-_./ are '_'. Only fields that events brought as numbers are, and none that is a tag.
//
// Of the schema as somebody sees it; Access and Store outlive it. Not thread-safe.
#ifndef TALLYD_SERVICE_POINTS_METRICS_H_
#define TALLYD_SERVICE_POINTS_METRICS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/access/schema_view.h"
#include "service/points/series_question.h"
#include "service/query/ask/stream_fields.h"
#include "storage/store.h"

namespace tallyd {

// The fields that tell series apart, in byte order: those that the row keys of the stream's tables
// of events and of latest values give back, and labels.
std::vector<std::string> TagsOf(const Schema& schema, const Stream& stream,
                                const StreamFields& known);

class Metrics {
 public:
  // `own_stream`: empty where the protocol has none.
  Metrics(const Access& access, const Store& store, std::string_view own_stream)
      : schema_(access.schema()), store_(store), own_stream_(own_stream) {}

  // Nothing: no events brought it. The own stream goes before the others, and these in the order of
  // the file.
  std::optional<MetricField> Find(std::string_view metric) const;
  // The name under which Find knows the field.
  std::string NameOf(const MetricField& metric) const;
  // Those that begin with the prefix, in byte order, each once, at most `limit`.
  std::vector<std::string> Names(std::string_view prefix, size_t limit) const;
  // The fields of the stream that are metrics, in byte order.
  std::vector<std::string> FieldsOf(const Stream& stream) const;

 private:
  bool IsOwn(const Stream& stream) const { return stream.name == own_stream_; }

  const Schema& schema_;
  const Store& store_;
  const std::string own_stream_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_METRICS_H_
