#include "storage/capabilities.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

bool HasAggregates(const Table& table) {
  return std::ranges::any_of(table.families,
                             [](const Family& family) { return family.aggregate.has_value(); });
}

}  // namespace

std::vector<std::pair<std::string_view, bool>> NamesOf(const Capabilities& capabilities) {
  return {{"whole_batches", capabilities.whole_batches},
          {"snapshots", capabilities.snapshots},
          {"staging", capabilities.staging != nullptr},
          {"watching", capabilities.watching != nullptr},
          {"filling", capabilities.filling != nullptr},
          {"settling", capabilities.settling != nullptr},
          {"backup", capabilities.backup != nullptr},
          {"retention_clock", capabilities.clock != nullptr},
          {"claiming", capabilities.claiming != nullptr},
          {"merged_events", capabilities.merge_witness != nullptr}};
}

Status CheckHolds(const Capabilities& capabilities, const Schema& schema) {
  std::string why;
  const auto refuse = [&](std::string_view key, std::string_view needs) {
    why += fmt::format("{}{}: the engine {} {}", why.empty() ? "" : "\n", key, capabilities.engine,
                       needs);
  };
  for (const Stream& stream : schema.streams) {
    if (stream.time_required || capabilities.whole_batches) continue;
    refuse(fmt::format("streams.{}.time_required", stream.name),
           "has no whole batches: events without a time would get others when a batch that failed "
           "in part is sent again; say true");
  }
  for (const Table& table : schema.tables) {
    if (table.daily && capabilities.staging == nullptr) {
      refuse(fmt::format("tables.{}.daily", table.name), "makes no tables behind their names");
    }
    if (table.flush_us && capabilities.watching == nullptr) {
      refuse(fmt::format("tables.{}.flush", table.name),
             "cannot keep what is held from going over a removal");
    }
    if (HasAggregates(table) && !capabilities.whole_batches && !capabilities.counts_once) {
      refuse(fmt::format("tables.{}.families", table.name),
             "has no whole batches: what an aggregate family took of one that fails in part would "
             "count again when it is sent again");
    }
  }
  return why.empty() ? Status() : Status(Invalid(std::move(why)));
}

}  // namespace tallyd
