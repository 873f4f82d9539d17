#include "service/query/scan/same_table.h"

#include <algorithm>
#include <ranges>

namespace tallyd {
namespace {

bool IsRuleInForce(const RuleMark& mark) { return mark.away_since == 0 && !mark.rule.empty(); }

// A mark that was made anew, or went and is back, is of a later adoption.
bool HasSameMarks(const TableInfo& before, const TableInfo& after) {
  return before.membership.adoption == after.membership.adoption &&
         std::ranges::equal(before.rules | std::views::filter(IsRuleInForce),
                            after.rules | std::views::filter(IsRuleInForce),
                            [](const RuleMark& a, const RuleMark& b) {
                              return a.rule == b.rule && a.adoption == b.adoption;
                            });
}

}  // namespace

Status CheckSameTable(const Store& store, const TableInfo& began) {
  const TablePtr now = store.FindTable(began.name);
  const bool is_other = now == nullptr || now->id != began.id;
  if (is_other || now->orphaned || HasSameMarks(began, *now)) return {};
  return Error(ErrorCode::kUnavailable,
               "table " + began.name + ": its rules were changed while it was read; ask again");
}

}  // namespace tallyd
