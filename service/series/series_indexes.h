// SeriesIndexes: the indexes of series that go with a schema: of each table whose key has
// {labels}, and of each table of a stream that bounds its series. Others have none: their writes
// ask nothing, and their series are found by reading. Immutable; the indexes outlive reloads.
#ifndef TALLYD_SERVICE_SERIES_SERIES_INDEXES_H_
#define TALLYD_SERVICE_SERIES_SERIES_INDEXES_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "service/series/field_limit.h"
#include "service/series/series_index.h"

namespace tallyd {

using SeriesIndexPtr = std::shared_ptr<SeriesIndex>;

struct SeriesIndexes {
  struct OfStream {
    std::vector<SeriesIndexPtr> tables;  // In the file's order.
    std::shared_ptr<FieldLimit> fields;  // Null: they have no bound.
  };
  std::map<std::string, OfStream, std::less<>> streams;
  // Whether nobody but this process writes to the store. Where others do (an engine elsewhere) an
  // index counts what this one has written since it began, and answers no question.
  bool knows_all_writes = true;

  const OfStream* FindStream(std::string_view name) const {
    const auto found = streams.find(name);
    return found == streams.end() ? nullptr : &found->second;
  }
  // Null: the table has none.
  SeriesIndexPtr Find(TableId table) const {
    for (const auto& [name, of] : streams) {
      for (const SeriesIndexPtr& index : of.tables) {
        if (index->table()->id == table) return index;
      }
    }
    return nullptr;
  }
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_INDEXES_H_
