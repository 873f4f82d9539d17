#include "api/opentsdb/put_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

EventWrite PrepareEventsOf(const PrincipalPtr& who, const std::string& stream, bool partial,
                           DataPoints* points, RequestEvents* events, ApiContext& context) {
  events->Clear();
  points->MakeEvents(context.ShapesOf(stream), &events->Of(stream));
  EventTerms terms;
  terms.partial = partial;
  return context.writer.PrepareEvents(who, *events, terms);
}

// The events that were refused; empty: more than are known.
std::vector<size_t> RefusedEvents(const EventErrors& errors) {
  std::vector<size_t> events;
  if (errors.count() > errors.kept().size()) return events;
  for (const EventError& error : errors.kept()) events.push_back(error.index);
  return events;
}

// Events that are not known by then have one point each.
void TakeRefused(const EventErrors& refused, const DataPoints& points, PointWrite* put) {
  put->failed += refused.count() - refused.kept().size();
  for (const EventError& error : refused.kept()) {
    put->failed += points.PointsOf(error.index);
    points.AppendErrors(error.index, error.detail, &put->errors);
  }
  std::ranges::stable_sort(put->errors, {}, &PointError::index);
}

void CountRefused(const std::string& stream, std::string_view peer, const PointWrite& put,
                  ApiContext& context) {
  if (put.error) {
    context.rejects.Count(stream, ReasonOf(put.error->code()), put.error->message(), peer);
  } else if (put.failed > 0) {
    const std::string first = put.errors.empty() ? std::string() : put.errors.front().error;
    context.rejects.Count(stream, RejectReason::kEvent,
                          fmt::format("{} of {} data points; the first: {}", put.failed,
                                      put.failed + put.stored, first),
                          peer);
  }
}

}  // namespace

Result<PointEventForm> FormOfStream(const std::string& stream, const ApiContext& context) {
  const auto snapshot = context.snapshot();
  const Result<const Stream*> found = FindStream(*snapshot->schema, stream);
  if (!found) return found.error();
  return PointEventForm{(*found)->time_field, (*found)->unit};
}

PointWrite PreparePoints(const PrincipalPtr& who, const std::string& stream, std::string_view peer,
                         DataPoints* points, RequestEvents* events, ApiContext& context) {
  using State = EventWrite::State;
  PointWrite put;
  put.failed = points->refused();
  put.errors = points->errors();
  put.write.state = State::kDone;
  if (points->refused() < points->seen()) {
    put.write = PrepareEventsOf(who, stream, /*partial=*/false, points, events, context);
    if (put.write.state == State::kRefused && put.write.cause == EventWrite::Cause::kEvents) {
      points->Split(RefusedEvents(put.write.outcome.errors));
      put.write = PrepareEventsOf(who, stream, /*partial=*/true, points, events, context);
    }
    if (put.write.state == State::kRefused) put.error = put.write.error;
    if (!put.error) TakeRefused(put.write.outcome.errors, *points, &put);
  }
  if (!put.error) put.stored = points->seen() - put.failed;
  CountRefused(stream, peer, put, context);
  return put;
}

}  // namespace tallyd
