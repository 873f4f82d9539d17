#include "ingest/text/json.h"

#include <simdjson.h>

#include <cmath>

#include "ingest/text/json_text.h"

namespace tallyd {
namespace {

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

bool IsList(const StoreMember::Members& members) {
  return members.empty() || members.front().name.empty();
}

Json JsonOfMember(const StoreMember& member) {
  if (const auto* flag = std::get_if<bool>(&member.value)) return *flag;
  if (const auto* number = std::get_if<uint64_t>(&member.value)) return *number;
  if (const auto* text = std::get_if<std::string>(&member.value)) return JsonOfText(*text);
  return JsonOfMembers(std::get<StoreMember::Members>(member.value));
}

}  // namespace

Json JsonOfText(std::string_view text) {
  if (IsUtf8(text)) return text;
  return {{"base64", EncodeBase64(text)}};
}

std::string JsonName(std::string_view name) {
  return IsUtf8(name) ? std::string(name) : "base64:" + EncodeBase64(name);
}

Json JsonOfTime(TimeUs t) {
  if (t % kUsPerMs == 0) return t / kUsPerMs;
  return static_cast<double>(t) / kUsPerMs;
}

Json JsonOfSeconds(int64_t us) {
  return std::round(static_cast<double>(us) / kUsPerMs) / (kUsPerSecond / kUsPerMs);
}

Json JsonOfMembers(const StoreMember::Members& members) {
  Json json = IsList(members) ? Json::array() : Json::object();
  for (const StoreMember& member : members) {
    if (IsList(members)) {
      json.push_back(JsonOfMember(member));
    } else {
      json[member.name] = JsonOfMember(member);
    }
  }
  return json;
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AppendMembers(const Json& object, std::string* out) {
  if (object.empty()) return;
  const std::string text = Dump(object);
  out->append(",").append(text, 1, text.size() - 2);
}

}  // namespace tallyd
