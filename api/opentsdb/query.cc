#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/opentsdb/query_answer.h"
#include "api/opentsdb/query_request.h"
#include "api/opentsdb/question_parts.h"
#include "api/opentsdb/questions.h"
#include "service/points/metrics.h"
#include "service/points/read_series.h"

namespace tallyd {

Response AnswerOpentsdbQuery(const Request& request, ApiContext& context) {
  const Result<bool> is_body = AsksByBody(request);
  if (!is_body) return ProblemOf(is_body.error());
  Result<OpentsdbQuery> query = ReadOpentsdbQuery(request, *is_body, context.clock.Now());
  if (!query) return ProblemOf(query.error());
  const Access access = context.AccessOf(*request.principal);
  const ReadParts parts = context.read_parts();
  const Metrics metrics(access, context.store, OwnStream(context));
  std::vector<PointSet> found;
  bool is_complete = true;
  for (const OpentsdbSubQuery& asked : query->queries) {
    const std::optional<MetricField> metric = metrics.Find(asked.metric);
    if (!metric) {  // Nobody ever wrote it: there is nothing.
      found.emplace_back();
      continue;
    }
    SeriesQuestion question = asked.question;
    question.metric = *metric;
    Result<PointSet> set = ReadSeries(question, access, parts, request.memory);
    if (!set) return ProblemOf(set.error());
    is_complete = is_complete && set->complete;
    found.push_back(std::move(*set));
  }
  Response response;
  // The protocol has no place for it.
  if (!is_complete) response.headers.emplace_back("X-Tallyd-Complete", "false");
  response.source = std::make_unique<OpentsdbAnswer>(std::move(*query), std::move(found));
  return response;
}

}  // namespace tallyd
