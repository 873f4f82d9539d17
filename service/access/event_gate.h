// EventGate: which events somebody with a scope may write: those whose own fields have the scope's
// values, compared as text. An event enters all tables of its stream, so nothing but the event
// itself decides.
//
// Of one request's events of one stream; not thread-safe. `access` and `stream` outlive it.
#ifndef TALLYD_SERVICE_ACCESS_EVENT_GATE_H_
#define TALLYD_SERVICE_ACCESS_EVENT_GATE_H_

#include <optional>
#include <string>

#include "config/values/result.h"
#include "ingest/decode/event_batch.h"
#include "service/access/schema_view.h"

namespace tallyd {

class EventGate {
 public:
  // REQUIRES: access.is_scoped().
  EventGate(const Access& access, const Stream& stream);

  // Nothing: it may come.
  std::optional<Refusal> Refuses(const Event& event);
  // Of the first that is another's; nothing where no event was. One without the field is wrong, and
  // not another's.
  const std::optional<Error>& outside() const { return outside_; }

 private:
  std::optional<Refusal> Outside(const std::string& field, std::string detail);
  const Table* HeldAsLabelBy(const std::string& field) const;

  const Access& access_;
  const Stream& stream_;
  const Scope& scope_;
  // A table in whose keys the scope's values are written as others: null where there is none.
  const Table* writes_others_ = nullptr;
  std::string scratch_;
  std::optional<Error> outside_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_EVENT_GATE_H_
