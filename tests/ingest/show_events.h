// What a decoder made of a body, to be compared.
#ifndef TALLYD_TESTS_INGEST_SHOW_EVENTS_H_
#define TALLYD_TESTS_INGEST_SHOW_EVENTS_H_

#include <fmt/format.h>

#include <string>

#include "ingest/decode/event_batch.h"

namespace tallyd {

inline std::string ShowEvents(const EventBatch& batch) {
  std::string all;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Event event = batch.event(i);
    all += fmt::format("{}{{", event.index);
    for (size_t v = 0; v < event.values.size(); ++v) {
      all += fmt::format("{}={}:{} ", event.FieldOf(v), ToString(event.values[v].type()),
                         ToText(event.values[v]));
    }
    all += "}\n";
  }
  for (const EventError& error : batch.errors().kept()) {
    all += fmt::format("{}[{}] {}\n", error.index, error.field, error.detail);
  }
  return all;
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_SHOW_EVENTS_H_
