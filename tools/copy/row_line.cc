#include "tools/copy/row_line.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <optional>

#include "config/values/value.h"
#include "ingest/text/json_text.h"
#include "tools/copy/json_slices.h"

namespace tallyd {
namespace {

constexpr std::string_view kBase64Name = "base64:";
constexpr size_t kShownBytes = 200;

std::string_view ValueOf(const std::vector<JsonSlice>& members, std::string_view quoted) {
  for (const JsonSlice& member : members) {
    if (member.name == quoted) return member.value;
  }
  return {};
}

// Of "..." and of {"base64": "..."}.
std::optional<std::string> BytesOf(std::string_view value) {
  if (value.starts_with('"')) return TextOfSlice(value);
  std::vector<JsonSlice> members;
  if (!CutJson(value, &members)) return std::nullopt;
  const auto text = TextOfSlice(ValueOf(members, "\"base64\""));
  std::string bytes;
  if (!text || !DecodeBase64(*text, &bytes)) return std::nullopt;
  return bytes;
}

// The name of a member as the value that a mutation takes: a name that is no text is answered as
// "base64:...", and so may be spelled what is a text like that.
std::string NameAsValue(std::string_view quoted) {
  const std::optional<std::string> text = TextOfSlice(quoted);
  std::string bytes;
  if (text && text->starts_with(kBase64Name) &&
      DecodeBase64(text->substr(kBase64Name.size()), &bytes)) {
    std::string as_json;
    AppendJsonString(bytes, &as_json);
    if (as_json.starts_with('{')) return as_json;
  }
  return std::string(quoted);
}

uint64_t Digest(const std::string& text, uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

class RowReader {
 public:
  explicit RowReader(const std::set<std::string>& adding) : adding_(adding) {}

  bool Read(std::string_view line, RowLine* row) {
    std::vector<JsonSlice> members;
    if (!CutJson(line, &members)) return false;
    const auto key = BytesOf(ValueOf(members, "\"key\""));
    std::vector<JsonSlice> families;
    if (!key || !CutJson(ValueOf(members, "\"cells\""), &families)) return false;
    row->key = *key;
    for (const JsonSlice& family : families) {
      std::vector<JsonSlice> columns;
      if (!CutJson(family.value, &columns)) return false;
      for (const JsonSlice& column : columns) {
        if (!ReadColumn(family.name, column, row)) return false;
      }
    }
    return true;
  }

 private:
  bool ReadColumn(std::string_view family, const JsonSlice& column, RowLine* row) const {
    const auto name = TextOfSlice(family);
    std::vector<JsonSlice> cells;
    if (!name || !CutJson(column.value, &cells)) return false;
    const char* const verb = adding_.contains(*name) ? "merge" : "set";
    const std::string place = fmt::format("\"family\":{},\"qualifier\":{}", NameAsValue(family),
                                          NameAsValue(column.name));
    for (const JsonSlice& cell : cells) {
      std::vector<JsonSlice> members;
      if (!CutJson(cell.value, &members)) return false;
      const std::string_view ts = ValueOf(members, "\"ts\"");
      const std::string_view value = ValueOf(members, "\"value\"");
      const auto number = ParseNumber(ts);
      if (!number || value.empty()) return false;
      const auto time = ParseEventTime(*number, TimeUnit::kMilliseconds, ts);
      if (!time) return false;
      const std::string written = fmt::format("{},\"ts\":{},\"value\":{}", place, ts, value);
      row->cells.push_back({fmt::format("{{\"{}\":{{{}}}}}", verb, written), *time,
                            Digest(written, Digest(row->key, 0))});
    }
    return true;
  }

  const std::set<std::string>& adding_;
};

}  // namespace

Result<RowLine> ReadRowLine(std::string_view line, const std::set<std::string>& adding) {
  RowLine row;
  if (RowReader(adding).Read(line, &row)) return row;
  return Error(ErrorCode::kIo, "the daemon answers with what is no row: " +
                                   std::string(line.substr(0, kShownBytes)));
}

}  // namespace tallyd
