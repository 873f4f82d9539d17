// Row keys in a line: rendered from fields, read back to text. The time field is ts, in
// milliseconds.
#ifndef TALLYD_TESTS_CONFIG_SCHEMA_ROW_KEY_HELPER_H_
#define TALLYD_TESTS_CONFIG_SCHEMA_ROW_KEY_HELPER_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/row_key_template.h"

namespace tallyd {

using Fields = std::map<std::string, Value, std::less<>>;

inline RowKeyTemplate Template(std::string_view text) {
  return RowKeyTemplate::Parse(text, "ts").value();
}

inline Result<std::string> Render(const RowKeyTemplate& row_key, const Fields& fields,
                                  TimeUs t = 0) {
  std::string key;
  for (const Segment& segment : row_key.segments()) {
    if (segment.is_literal()) {
      key += segment.literal;
      continue;
    }
    const auto found = fields.find(segment.field);
    const Value value = found == fields.end() ? Value() : found->second;
    const Status status = row_key.AppendSegment(segment, value, t, TimeUnit::kMilliseconds, &key);
    if (!status) return status.error();
  }
  return key;
}

inline std::string Key(std::string_view text, const Fields& fields, TimeUs t = 0) {
  return Render(Template(text), fields, t).value();
}

inline std::string RenderError(std::string_view text, const Fields& fields) {
  const Result<std::string> key = Render(Template(text), fields);
  return key ? "no error: " + *key : key.error().message();
}

inline Value Text(std::string_view text) { return Value::String(text); }

// "field=text" of every placeholder; a time or salt is "field".
inline std::vector<std::string> Read(std::string_view text, std::string_view key) {
  const RowKeyTemplate row_key = Template(text);
  std::string scratch;
  std::vector<KeyField> fields;
  if (!row_key.ReadBack(key, &scratch, &fields)) return {"misfit"};
  std::vector<std::string> result;
  for (const KeyField& field : fields) {
    const std::string& name = row_key.segments()[field.segment].field;
    result.push_back(field.value.is_null() ? name : name + "=" + ToText(field.value));
  }
  return result;
}

inline ValueType TypeRead(std::string_view text, std::string_view key) {
  std::string scratch;
  std::vector<KeyField> fields;
  EXPECT_TRUE(Template(text).ReadBack(key, &scratch, &fields));
  return fields.empty() ? ValueType::kNull : fields[0].value.type();
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_CONFIG_SCHEMA_ROW_KEY_HELPER_H_
