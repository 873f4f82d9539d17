// What /api/query asks, by the query string or by a body of JSON, as questions of series whose
// metrics are named and not yet found.
#ifndef TALLYD_API_OPENTSDB_QUERY_REQUEST_H_
#define TALLYD_API_OPENTSDB_QUERY_REQUEST_H_

#include <string>
#include <vector>

#include "api/request.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "ingest/text/json.h"
#include "service/points/series_question.h"

namespace tallyd {

struct OpentsdbSubQuery {
  std::string metric;
  SeriesQuestion question;  // Its metric is empty.
  bool blank_is_null = false;
  // As it was asked, for answers that show their query.
  std::string downsample;

  friend bool operator==(const OpentsdbSubQuery&, const OpentsdbSubQuery&) = default;
};

struct OpentsdbQuery {
  std::vector<OpentsdbSubQuery> queries;  // The same one once.
  bool tells_ms = false;
  bool as_arrays = false;
  bool shows_query = false;
  bool shows_tsuids = false;
};

// `is_body`: the body says it, and of the query string only flags count.
Result<OpentsdbQuery> ReadOpentsdbQuery(const Request& request, bool is_body, TimeUs now);

// A sub-query as OpenTSDB writes it.
Json JsonOfSubQuery(const OpentsdbSubQuery& query, size_t index);

// A body of JSON, which is not much for a question. kTooLarge, kInvalid.
Result<Json> ReadQuestionBody(std::string_view body);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUERY_REQUEST_H_
