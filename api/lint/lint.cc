// GET /v1/lint: the rules of lint, asked of the schema in force and of the data.
#include "api/handlers.h"
#include "api/lint/findings_json.h"
#include "service/lint/live_facts.h"

namespace tallyd {

Response GetLint(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const auto snapshot = context.snapshot();
  const Result<LiveFacts> live =
      ReadLiveFacts(*snapshot->schema, context.store, context.clock.Now());
  if (!live) return ProblemOf(live.error());
  const auto findings = Lint(*snapshot->schema, snapshot->scope_fields, &*live);
  return Response::Of(200, {{"findings", JsonOfFindings(findings)}});
}

}  // namespace tallyd
