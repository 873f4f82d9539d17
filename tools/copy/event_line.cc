#include "tools/copy/event_line.h"

#include <xxhash.h>

#include <array>
#include <optional>
#include <vector>

#include "config/values/value.h"
#include "tools/copy/json_slices.h"

namespace tallyd {
namespace {

constexpr size_t kShownBytes = 200;

Error NotAnEvent(std::string_view line) {
  return Error(ErrorCode::kIo, "the daemon answers with what is no event: " +
                                   std::string(line.substr(0, kShownBytes)));
}

}  // namespace

Result<EventLine> ReadEventLine(std::string_view line, TimeUnit unit) {
  thread_local std::vector<JsonSlice> members;
  if (!CutJson(line, &members) || members.empty()) return NotAnEvent(line);
  const std::optional<Value> number = ParseNumber(members.front().value);
  if (!number) return NotAnEvent(line);
  const Result<TimeUs> time = ParseEventTime(*number, unit, members.front().value);
  if (!time) return NotAnEvent(line);
  EventLine event;
  event.time = *time;
  const std::string_view first = members.front().value;
  event.fields = line.substr(static_cast<size_t>(first.data() + first.size() - line.data()));
  uint64_t fields = 0;
  for (size_t i = 1; i < members.size(); ++i) {
    const auto& [name, value] = members[i];
    if (value.starts_with('{') || !name.starts_with('"')) event.bytes_field = name;
    fields += XXH64(value.data(), value.size(), XXH64(name.data(), name.size(), 0));
  }
  const std::array<uint64_t, 3> parts{static_cast<uint64_t>(event.time), fields, members.size()};
  event.digest = XXH64(parts.data(), sizeof(parts), 0);
  return event;
}

void AppendEventLine(const EventLine& line, std::string_view quoted_time_field, TimeUnit unit,
                     std::string* out) {
  out->push_back('{');
  out->append(quoted_time_field);
  out->push_back(':');
  AppendTime(line.time, unit, out);
  out->append(line.fields);
  out->push_back('\n');
}

}  // namespace tallyd
