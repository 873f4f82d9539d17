#include "tools/transfer/store_moment.h"

#include <algorithm>

#include "tools/transfer/state_file.h"

namespace tallyd {

Json StoreOfStatus(std::string_view status) {
  const Json said = Json::parse(status, nullptr, false);
  if (!said.is_object()) return Json::object();
  Json store = said.value("store", Json::object());
  return store.is_object() ? store : Json::object();
}

StoreMoment MomentOf(const Json& store) {
  StoreMoment moment;
  moment.id = StateText(store, "id");
  const Json openings = store.value("openings", Json::array());
  if (!openings.is_array() || openings.empty() || !openings.back().is_object()) return moment;
  moment.opening = StateText(openings.back(), "id");
  moment.openings = StateNumber(store, "openings_before") + openings.size();
  moment.changes = StateNumber(store, "changes");
  return moment;
}

bool HasAllOf(const Json& store, const StoreMoment& moment) {
  if (StateText(store, "id") != moment.id) return false;
  const Json openings = store.value("openings", Json::array());
  const bool tells = openings.is_array() && !openings.empty() &&
                     std::ranges::all_of(openings, [](const Json& one) { return one.is_object(); });
  if (moment.opening.empty() || !tells) return true;
  const auto same = std::ranges::find_if(
      openings, [&](const Json& one) { return StateText(one, "id") == moment.opening; });
  if (same == openings.end()) return moment.openings <= StateNumber(store, "openings_before");
  // What came after it was put back began with less.
  const auto next = std::next(same);
  return StateNumber(next == openings.end() ? store : *next, "changes") >= moment.changes;
}

Json JsonOfMoment(const StoreMoment& moment) {
  return {{"id", moment.id},
          {"opening", moment.opening},
          {"openings", moment.openings},
          {"changes", moment.changes}};
}

StoreMoment MomentOfJson(const Json& json) {
  if (json.is_string()) return {json.get<std::string>(), {}, 0, 0};  // As states were once.
  if (!json.is_object()) return {};
  return {StateText(json, "id"), StateText(json, "opening"), StateNumber(json, "openings"),
          StateNumber(json, "changes")};
}

}  // namespace tallyd
