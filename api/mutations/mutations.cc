#include "api/mutations/mutations.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/access/refusals.h"
#include "api/errors_json.h"
#include "api/handlers.h"
#include "api/mutations/mutation_reader.h"
#include "api/warnings.h"
#include "ingest/decode/decode.h"
#include "ingest/text/json.h"
#include "service/rows/row_query.h"
#include "service/write/writer.h"

namespace tallyd {
namespace {

Response Refused(const EventErrors& errors, size_t seen) {
  const EventError& first = errors.kept().front();
  const std::string where = first.field.empty() ? "" : first.field + ": ";
  return Problem(400,
                 fmt::format("{} of {} mutations refused, nothing was changed; the first: mutation "
                             "{}: {}{}",
                             errors.count(), seen, first.index, where, first.detail),
                 JsonOfErrors(errors));
}

// What can be said without reading the list.
Status CheckHead(const Request& request) {
  if (Status known = request.params.RefuseUnknown({}); !known) return known;
  if (FindBodyFormat(request.content_type) != FindBodyFormat("application/json") ||
      !request.content_encoding.empty()) {
    return Error(ErrorCode::kUnsupported, "mutations come as application/json, not encoded");
  }
  const std::string& key = request.arguments[1];
  if (key.size() <= kMaxRowKeyBytes) return {};
  return Invalid(
      fmt::format("the row key has {} bytes; 1 to {} are taken", key.size(), kMaxRowKeyBytes));
}

}  // namespace

KeyedRequest KeyedMutations(const Request& request) {
  return {"mutations of " + request.arguments[0], *request.idempotency_key,
          PrintOf(request.arguments[1], request.body)};
}

Response PostMutations(const Request& request, ApiContext& context) {
  const auto snapshot = context.snapshot();
  const Result<TablePtr> stored =
      FindStoredTable(context.AccessOf(*request.principal), context.store, request.arguments[0]);
  if (!stored) return ProblemOf(stored.error());
  if (const Status good = CheckHead(request); !good) return ProblemOf(good.error());
  const Table* const table = snapshot->schema->FindTable((*stored)->name);
  if (table == nullptr) {
    return Problem(409, fmt::format("table {} is not in the configuration: its rows can be read "
                                    "and removed, not changed",
                                    (*stored)->name));
  }
  MutationReader reader(**stored, *table, context.store.capabilities().most_added);
  const Result<std::vector<Mutation>> mutations = reader.Read(request.body);
  if (!mutations) return ProblemOf(mutations.error());
  if (!reader.errors().empty()) return Refused(reader.errors(), mutations->size());
  const bool deletes = std::ranges::count(*mutations, Mutation::Kind::kDelete, &Mutation::kind) > 0;
  if (deletes && !request.principal->roles.Have(Role::kDelete)) {
    return LacksRole(*request.principal, Role::kDelete);
  }
  const auto count = [&](const WrittenRows& written) {
    return Json{
        {"mutations", mutations->size()}, {"rows", written.rows}, {"cells", written.cells}};
  };
  const auto remembered = [&](const WrittenRows& written) {
    const Response answer = Response::Of(200, count(written));
    return KeyedAnswer{answer.status, answer.body};
  };
  const Result<RowWritten> written =
      context.writer.ChangeRow(request.principal, {*stored, *table, request.arguments[1],
                                                   *mutations, request.claim, remembered});
  if (!written) return ProblemOf(written.error());
  Json answer = count(written->rows);
  AddWarnings(written->warnings, &answer);
  return Response::Of(200, answer);
}

}  // namespace tallyd
