#include "service/access/event_gate.h"

#include <fmt/format.h>

#include <utility>

namespace tallyd {
namespace {

bool IsText(const Value& value, const std::string& text, std::string* scratch) {
  if (value.type() == ValueType::kString) return value.AsView() == text;
  scratch->clear();
  AppendText(value, scratch);
  return *scratch == text;
}

}  // namespace

EventGate::EventGate(const Access& access, const Stream& stream) : scope_(access.view->scope()) {
  for (const Table& table : access.schema().tables) {
    const bool is_fed = table.stream == stream.name && !table.nightly;
    if (is_fed && access.view->ClampOf(table.name).is_empty()) writes_others_ = &table;
  }
}

std::optional<Refusal> EventGate::Refuses(const Event& event) {
  for (const auto& [field, own] : scope_) {
    const Value* const value = event.Find(field);
    if (value == nullptr) {
      return Refusal{field,
                     fmt::format("field \"{}\": missing, and whoever sends it may write only "
                                 "events that have it",
                                 field)};
    }
    if (!IsText(*value, own, &scratch_)) {
      return Outside(field, fmt::format("field \"{}\": it is not \"{}\", and whoever sends it may "
                                        "write only that",
                                        field, Shown(own)));
    }
  }
  if (writes_others_ == nullptr) return std::nullopt;
  return Outside(
      scope_.begin()->first,
      fmt::format("field \"{}\": the row key of table {} ({}) writes it as another value",
                  scope_.begin()->first, writes_others_->name, writes_others_->row_key.text()));
}

std::optional<Refusal> EventGate::Outside(const std::string& field, std::string detail) {
  if (!outside_) outside_ = Error(ErrorCode::kForbidden, detail);
  return Refusal{field, std::move(detail)};
}

}  // namespace tallyd
