#include "tools/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/console.h"

namespace tallyd {
namespace {

std::string_view KindOf(TableMode mode) {
  return mode == TableMode::kHistory ? "history" : "latest";
}

nlohmann::ordered_json JsonOf(const Finding& finding) {
  nlohmann::ordered_json json;
  json["file"] = finding.file;
  if (finding.offset) {
    json["offset"] = *finding.offset;
    json["bytes"] = finding.bytes;
  }
  json["problem"] = finding.problem;
  if (!finding.table.empty()) json["table"] = finding.table;
  if (finding.times) {
    json["from"] = FormatRfc3339(finding.times->from);
    json["to"] = FormatRfc3339(finding.times->to);
  }
  if (!finding.first_key.empty()) {
    json["first_key"] = Printable(finding.first_key);
    json["last_key"] = Printable(finding.last_key);
  }
  return json;
}

std::string TextOf(const Finding& finding) {
  std::string text = "DAMAGED  " + finding.file;
  if (finding.offset) {
    text += fmt::format(", {} bytes from byte {}", finding.bytes, *finding.offset);
  }
  text += ": " + finding.problem;
  if (!finding.table.empty()) text += "\n         of table " + finding.table;
  if (finding.times) {
    text += fmt::format(", times from {} to {}", FormatRfc3339(finding.times->from),
                        FormatRfc3339(finding.times->to));
  }
  if (!finding.first_key.empty()) {
    text += fmt::format(", rows from \"{}\" to \"{}\"", Printable(finding.first_key),
                        Printable(finding.last_key));
  }
  return text + "\n";
}

}  // namespace

double RateOf(uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-6);
}

std::string FindingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += TextOf(finding);
  return text;
}

nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings) {
  auto json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) json.push_back(JsonOf(finding));
  return json;
}

std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json VerifyJson(const VerifyReport& report, const std::string& path) {
  nlohmann::ordered_json json;
  json["path"] = path;
  json["sound"] = report.sound();
  json["tables"] = nlohmann::ordered_json::array();
  for (const auto& [id, table] : report.tables) {
    nlohmann::ordered_json one;
    one["name"] = table.name;
    one["kind"] = KindOf(table.mode);
    if (table.mode == TableMode::kHistory) {
      one["files"] = table.files;
      one["blocks"] = table.blocks;
      one["damaged_blocks"] = table.damaged_blocks;
      one["sealed_entries"] = table.sealed_entries;
      one["unsealed_entries"] = table.unsealed_entries;
      one["bytes"] = table.bytes;
    } else {
      one["rows"] = table.rows;
    }
    json["tables"].push_back(std::move(one));
  }
  json["heads"] = report.heads;
  json["findings"] = FindingsJson(report.findings);
  json["notes"] = report.notes;
  json["bytes"] = report.bytes;
  json["seconds"] = report.seconds;
  json["mb_per_second"] = RateOf(report.bytes, report.seconds);
  return json;
}

std::string VerifyText(const VerifyReport& report, const std::string& path) {
  std::vector<std::vector<std::string>> rows{
      {"table", "kind", "files", "blocks", "damaged", "sealed", "unsealed", "rows", "size"}};
  for (const auto& [id, table] : report.tables) {
    if (table.mode == TableMode::kHistory) {
      rows.push_back({table.name, "history", fmt::to_string(table.files),
                      fmt::to_string(table.blocks), fmt::to_string(table.damaged_blocks),
                      fmt::to_string(table.sealed_entries), fmt::to_string(table.unsealed_entries),
                      "-", FormatBytes(table.bytes)});
    } else {
      rows.push_back(
          {table.name, "latest", "-", "-", "-", "-", "-", fmt::to_string(table.rows), "-"});
    }
  }
  std::string text = TextTable(rows);
  for (const std::string& note : report.notes) text += "note     " + note + "\n";
  text += FindingsText(report.findings);
  const std::string verdict =
      report.sound() ? "is sound" : fmt::format("is DAMAGED: {} findings", report.findings.size());
  return text + fmt::format("{} {}. Read {} in {:.1f} s, {:.1f} MB/s\n", path, verdict,
                            FormatBytes(report.bytes), report.seconds,
                            RateOf(report.bytes, report.seconds));
}

}  // namespace tallyd
