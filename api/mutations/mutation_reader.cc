#include "api/mutations/mutation_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ingest/text/json_text.h"
#include "storage/batch.h"

namespace tallyd {
namespace {

using simdjson::ondemand::json_type;

constexpr std::array<std::string_view, 4> kKinds = {"set", "add", "merge", "delete"};

std::string_view NameOf(Mutation::Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

Refusal Refuse(std::string_view field, std::string detail) {
  return {std::string(field), std::move(detail)};
}

std::string_view Trimmed(std::string_view token) {
  const size_t end = token.find_last_not_of(" \t\r\n");
  return token.substr(0, end + 1);
}

std::string FamiliesOf(const Table& table) {
  std::vector<std::string> names;
  for (const Family& family : table.families) {
    names.push_back(family.aggregate
                        ? fmt::format("{} ({})", family.name, ToString(*family.aggregate))
                        : family.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// A bound of cell times: also the first moment behind all times.
Result<TimeUs> ParseBound(const Value& value, std::string_view digits) {
  constexpr TimeUs kEnd = kMaxTimeUs + 1;
  if (value == Value::Int(kEnd / kUsPerMs)) return kEnd;
  return ParseEventTime(value, TimeUnit::kMilliseconds, digits);
}

}  // namespace

Result<std::vector<Mutation>> MutationReader::Read(std::string_view body) {
  json_ = simdjson::padded_string(body);
  const auto malformed = [](std::string_view why) {
    return Invalid(fmt::format("the body is not {{\"mutations\": [...]}}: {}", why));
  };
  simdjson::ondemand::document document;
  simdjson::ondemand::object root;
  simdjson::error_code code = parser_.iterate(json_).get(document);
  if (!code) code = document.get_object().get(root);
  if (code == simdjson::INCORRECT_TYPE) return malformed("it is no object");
  if (code) return malformed(simdjson::error_message(code));
  std::vector<Mutation> mutations;
  bool any = false;
  for (auto member : root) {
    std::string_view name;
    simdjson::ondemand::array list;
    code = member.unescaped_key().get(name);
    if (code) return malformed(simdjson::error_message(code));
    if (name != "mutations") return malformed(fmt::format("unknown member \"{}\"", Shown(name)));
    if (any) return malformed("\"mutations\" is there twice");
    any = true;
    code = member.value().get_array().get(list);
    if (code == simdjson::INCORRECT_TYPE) return malformed("\"mutations\" is no list");
    if (code) return malformed(simdjson::error_message(code));
    if (const Status read = ReadList(list, &mutations); !read) return malformed(broken_);
  }
  if (!any) return malformed("\"mutations\" is missing");
  if (errors_.empty() && document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return malformed("something follows it");
  }
  return mutations;
}

Status MutationReader::ReadList(simdjson::ondemand::array list, std::vector<Mutation>* mutations) {
  size_t index = 0;
  for (auto element : list) {
    Json json;
    if (const auto code = element.get(json); code) broken_ = simdjson::error_message(code);
    if (index == kMaxMutations) {
      broken_ = fmt::format("more than {} mutations", kMaxMutations);
    }
    if (broken_.empty()) {
      Refused refused = ReadMutation(json, &mutations->emplace_back());
      if (refused) errors_.Add(index, std::move(*refused));
    }
    if (!broken_.empty()) return Invalid(broken_);
    ++index;
  }
  return {};
}

// JSON that is wrong ends all: nobody knows where the next mutation begins.
MutationReader::Refused MutationReader::Broken(simdjson::error_code code) {
  broken_ = simdjson::error_message(code);
  return Refuse("", broken_);
}

MutationReader::Refused MutationReader::ReadMutation(Json json, Mutation* mutation) {
  static constexpr auto kAccepted =
      "a mutation is an object with one member: \"set\", \"add\", \"merge\" or \"delete\"";
  json_type type;
  if (const auto code = json.type().get(type); code) return Broken(code);
  if (type != json_type::object) return Refuse("", kAccepted);
  simdjson::ondemand::object object;
  if (const auto code = json.get_object().get(object); code) return Broken(code);
  Members members;
  bool any = false;
  for (auto member : object) {
    std::string_view name;
    Json said;
    if (const auto code = member.unescaped_key().get(name); code) return Broken(code);
    if (const auto code = member.value().get(said); code) return Broken(code);
    const auto kind = std::find(kKinds.begin(), kKinds.end(), name);
    if (any || kind == kKinds.end()) return Refuse(Shown(name), kAccepted);
    any = true;
    mutation->kind = static_cast<Mutation::Kind>(kind - kKinds.begin());
    if (Refused refused = ReadMembers(said, mutation->kind, &members)) return refused;
  }
  if (!any) return Refuse("", kAccepted);
  return Check(members, mutation);
}

MutationReader::Refused MutationReader::ReadMembers(Json json, Mutation::Kind kind,
                                                    Members* members) {
  json_type type;
  if (const auto code = json.type().get(type); code) return Broken(code);
  if (type != json_type::object) return Refuse(NameOf(kind), "it is an object");
  simdjson::ondemand::object object;
  if (const auto code = json.get_object().get(object); code) return Broken(code);
  for (auto member : object) {
    std::string_view name;
    Json said;
    if (const auto code = member.unescaped_key().get(name); code) return Broken(code);
    if (const auto code = member.value().get(said); code) return Broken(code);
    if (Refused refused = ReadMember(name, said, kind, members)) return refused;
  }
  return {};
}

MutationReader::Refused MutationReader::ReadMember(std::string_view name, Json json,
                                                   Mutation::Kind kind, Members* members) {
  const bool deletes = kind == Mutation::Kind::kDelete;
  if (name == "family") return ReadText(name, json, &members->family);
  if (name == "qualifier") return ReadText(name, json, &members->qualifier);
  if (deletes && name == "from") return ReadNumberOrText(name, json, &members->from);
  if (deletes && name == "to") return ReadNumberOrText(name, json, &members->to);
  if (!deletes && name == "ts") return ReadNumberOrText(name, json, &members->ts);
  if (!deletes && name == "value") {
    if (members->has_value) return Refuse(name, "given twice");
    members->has_value = true;
    return ReadValue(name, json, &members->value, &members->digits);
  }
  return Refuse(Shown(name), fmt::format("{} takes family, qualifier, {}", NameOf(kind),
                                         deletes ? "from and to" : "ts and value"));
}

MutationReader::Refused MutationReader::ReadText(std::string_view name, Json json,
                                                 std::optional<std::string_view>* text) {
  if (*text) return Refuse(name, "given twice");
  Value value;
  std::string_view digits;
  if (Refused refused = ReadValue(name, json, &value, &digits)) return refused;
  if (value.type() != ValueType::kString && value.type() != ValueType::kBytes) {
    return Refuse(name, "a string, or {\"base64\": \"...\"}, is due");
  }
  *text = value.AsView();
  return {};
}

MutationReader::Refused MutationReader::ReadNumberOrText(std::string_view name, Json json,
                                                         std::optional<Said>* said) {
  if (*said) return Refuse(name, "given twice");
  Value read;
  std::string_view digits;
  if (Refused refused = ReadValue(name, json, &read, &digits)) return refused;
  if (!digits.empty()) {
    const std::optional<Value> number = ParseNumber(digits);
    if (!number) return Refuse(name, fmt::format("{}: it is out of range", Shown(digits)));
    read = *number;
  }
  *said = Said{read, digits};
  return {};
}

MutationReader::Refused MutationReader::ReadValue(std::string_view name, Json json, Value* value,
                                                  std::string_view* digits) {
  json_type type;
  if (const auto code = json.type().get(type); code) return Broken(code);
  switch (type) {
    case json_type::number:
      // What is no number is found out where the digits are read.
      *digits = Trimmed(json.raw_json_token());
      return {};
    case json_type::string: {
      std::string_view text;
      if (const auto code = json.get_string().get(text); code) return Broken(code);
      *value = Value::String(text);
      return {};
    }
    case json_type::boolean: {
      bool flag = false;
      if (const auto code = json.get_bool().get(flag); code) return Broken(code);
      *value = Value::Bool(flag);
      return {};
    }
    case json_type::object:
      return ReadBytes(name, json, value);
    case json_type::array:
    case json_type::null:
      break;
  }
  return Refuse(name, "a number, a string, true, false or {\"base64\": \"...\"} is due");
}

MutationReader::Refused MutationReader::ReadBytes(std::string_view name, Json json, Value* value) {
  simdjson::ondemand::object object;
  if (const auto code = json.get_object().get(object); code) return Broken(code);
  size_t members = 0;
  for (auto member : object) {
    std::string_view inner;
    if (const auto code = member.unescaped_key().get(inner); code) return Broken(code);
    std::string_view text;
    const bool good = ++members == 1 && inner == "base64" && !member.value().get_string().get(text);
    std::string* const bytes = good ? &bytes_.emplace_back() : nullptr;
    if (bytes == nullptr || !DecodeBase64(text, bytes)) {
      return Refuse(name, "bytes are {\"base64\": \"...\"}, in base64 with its padding");
    }
    *value = Value::Bytes(*bytes);
  }
  if (members == 0) return Refuse(name, "bytes are {\"base64\": \"...\"}");
  return {};
}

MutationReader::Refused MutationReader::Check(const Members& members, Mutation* mutation) {
  const Family* family = nullptr;
  if (Refused refused = CheckFamily(members, mutation, &family)) return refused;
  if (members.qualifier && !members.family) return Refuse("family", "a qualifier needs its family");
  if (members.qualifier && members.qualifier->size() > kMaxQualifierBytes) {
    return Refuse("qualifier", fmt::format("it has {} bytes; at most {} are taken",
                                           members.qualifier->size(), kMaxQualifierBytes));
  }
  mutation->qualifier = members.qualifier;
  if (mutation->kind == Mutation::Kind::kDelete) return CheckDelete(members, mutation);
  if (family == nullptr) {
    return Refuse("family", "say which; accepted are " + FamiliesOf(table_));
  }
  if (!members.qualifier) return Refuse("qualifier", "say which column");
  return CheckCell(members, *family, mutation);
}

MutationReader::Refused MutationReader::CheckFamily(const Members& members, Mutation* mutation,
                                                    const Family** family) const {
  if (!members.family) return {};
  *family = table_.FindFamily(*members.family);
  mutation->family = stored_.FindFamily(*members.family);
  if (*family != nullptr && mutation->family) return {};
  return Refuse("family", fmt::format("table {} has no family \"{}\"; accepted are {}", table_.name,
                                      Shown(*members.family), FamiliesOf(table_)));
}

MutationReader::Refused MutationReader::CheckDelete(const Members& members,
                                                    Mutation* mutation) const {
  for (const auto& [name, said, bound] : {std::tuple("from", &members.from, &mutation->cells.from),
                                          std::tuple("to", &members.to, &mutation->cells.to)}) {
    if (!*said) continue;
    const Result<TimeUs> time = ParseBound((*said)->value, (*said)->digits);
    if (!time) return Refuse(name, time.error().message());
    *bound = *time;
  }
  if (mutation->cells.from > mutation->cells.to) return Refuse("from", "it lies after to");
  return {};
}

MutationReader::Refused MutationReader::CheckCell(const Members& members, const Family& family,
                                                  Mutation* mutation) {
  const bool sets = mutation->kind == Mutation::Kind::kSet;
  if (sets && family.aggregate) {
    return Refuse("family", fmt::format("{} is an aggregate family ({}): it takes add and merge",
                                        family.name, ToString(*family.aggregate)));
  }
  if (!sets && !family.aggregate) {
    return Refuse("family", fmt::format("{} is a plain family: it takes set", family.name));
  }
  if (!members.ts) return Refuse("ts", "say the cell's time, in milliseconds since 1970");
  const auto& [said, digits] = *members.ts;
  const Result<TimeUs> time = ParseEventTime(said, TimeUnit::kMilliseconds, digits);
  if (!time) return Refuse("ts", time.error().message());
  mutation->time = CellTime(family, *time);
  if (!members.has_value) return Refuse("value", "say which");
  if (!sets) return ReadState(members, *family.aggregate, mutation);
  mutation->value = members.value;
  if (!members.digits.empty()) {
    const std::optional<Value> number = ParseNumber(members.digits);
    if (!number) {
      return Refuse("value", fmt::format("{}: neither an integer of 64 bits nor a finite float64",
                                         Shown(members.digits)));
    }
    mutation->value = *number;
  }
  const ValueType type = mutation->value.type();
  const bool viewed = type == ValueType::kString || type == ValueType::kBytes;
  if (viewed && mutation->value.AsView().size() > kMaxValueBytes) {
    return Refuse("value", fmt::format("it has more than {} bytes", kMaxValueBytes));
  }
  return {};
}

MutationReader::Refused MutationReader::ReadState(const Members& members, Aggregate kind,
                                                  Mutation* mutation) {
  std::string& bytes = bytes_.emplace_back();
  const bool is_number = !members.digits.empty();
  Result<Value> state = members.value;
  if (mutation->kind == Mutation::Kind::kAdd) {
    const std::optional<Value> number = is_number ? ParseNumber(members.digits) : std::nullopt;
    if (is_number && !number) {
      return Refuse("value", fmt::format("{}: not an integer of 64 bits", Shown(members.digits)));
    }
    state = StateOfInput(kind, number ? *number : members.value, &bytes, most_added_);
  } else if (is_number) {
    state = StateOfNumber(kind, members.digits, &bytes);
  } else if (members.value.type() == ValueType::kString && InfoOf(kind).is_numeric) {
    state = StateOfNumber(kind, members.value.AsView(), &bytes);
  } else if (members.value.type() == ValueType::kBytes) {
    state = StateOfBytes(kind, members.value.AsView());
  } else {
    return Refuse("value",
                  fmt::format("what is merged into {} is {}", ToString(kind), InfoOf(kind).states));
  }
  if (!state) return Refuse("value", state.error().message());
  // What adds no more than that at once has sums of 64 bits.
  if (most_added_ < kAnyAdded && InfoOf(kind).is_wide && state->type() == ValueType::kBytes) {
    return Refuse("value", fmt::format("it is not a whole number of 64 bits, and the engine has no "
                                       "other {}",
                                       ToString(kind)));
  }
  mutation->value = *state;
  return {};
}

}  // namespace tallyd
