#include "service/rows/aggregate_text.h"

#include "config/values/aggregate.h"

namespace tallyd {

std::optional<std::string> AggregateText(const TableInfo& table, const CellView& cell) {
  const std::optional<Aggregate> kind = table.families[cell.column.family].rules.aggregate;
  if (!kind) return std::nullopt;
  const std::optional<Int128> number = ReadState(*kind, cell.value);
  if (!number) return std::nullopt;
  std::string text;
  AppendInt128(*number, &text);
  return text;
}

}  // namespace tallyd
