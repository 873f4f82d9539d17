#include "service/access/event_gate.h"

#include <fmt/format.h>

#include <utility>

#include "ingest/labels/event_labels.h"

namespace tallyd {
namespace {

bool IsText(const Value& value, const std::string& text, std::string* scratch) {
  if (value.type() == ValueType::kString) return value.AsView() == text;
  scratch->clear();
  AppendText(value, scratch);
  return *scratch == text;
}

}  // namespace

EventGate::EventGate(const Access& access, const Stream& stream)
    : access_(access), stream_(stream), scope_(access.view->scope()) {
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
    const Table* const holder = HeldAsLabelBy(field);
    if (holder != nullptr && !HasAsLabel(stream_, event, field)) {
      return Outside(field,
                     fmt::format("field \"{}\": it is no label here, and by its labels table "
                                 "{} ({}) tells whose an event is",
                                 field, holder->name, holder->row_key.text()));
    }
  }
  if (writes_others_ == nullptr) return std::nullopt;
  return Outside(
      scope_.begin()->first,
      fmt::format("field \"{}\": the row key of table {} ({}) writes it as another value",
                  scope_.begin()->first, writes_others_->name, writes_others_->row_key.text()));
}

// A table of the stream in whose keys the field stands only as a label; null: there is none.
const Table* EventGate::HeldAsLabelBy(const std::string& field) const {
  for (const size_t index : stream_.tables) {
    const Table& table = access_.view->whole().tables[index];
    if (table.row_key.HoldsAsLabel(field)) return &table;
  }
  return nullptr;
}

std::optional<Refusal> EventGate::Outside(const std::string& field, std::string detail) {
  if (!outside_) outside_ = Error(ErrorCode::kForbidden, detail);
  return Refusal{field, std::move(detail)};
}

}  // namespace tallyd
