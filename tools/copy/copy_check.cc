#include "tools/copy/copy_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tools/copy/event_pages.h"
#include "tools/transfer/export_plan.h"

namespace tallyd {
namespace {

class Checker {
 public:
  Checker(const PatientClient& to, const StreamPlan& plan, const EventSums& sums,
          const TimeRange& time)
      : to_(to), plan_(plan), sums_(sums), time_(time) {}

  Result<CopyCheck> Run() {
    CopyCheck check;
    const Result<ExportPlan> whole = PlanFrom(time_.from);
    if (!whole) return whole.error();
    check.from = time_.from;
    ExportPlan target = *whole;
    if (!target.lack.empty()) {
      const Result<TimeUs> from = WholeFrom();
      if (!from) return from.error();
      check.from = *from;
      if (check.from >= time_.to) {
        check.why = "the target has no table that holds everything: " + target.lack;
        return check;
      }
      const Result<ExportPlan> rest = PlanFrom(check.from);
      if (!rest) return rest.error();
      target = *rest;
    }
    if (Status read = ReadBack(target, check.from); !read) return read.error();
    return Compare(target, std::move(check));
  }

 private:
  Result<ExportPlan> PlanFrom(TimeUs from) const {
    TransferLine line;
    line.stream = plan_.stream;
    line.from = QueryTimeText(from);
    line.to = QueryTimeText(time_.to);
    return PlanExport(line, to_);
  }

  // From which span on the target holds everything: what is old may have expired there. The end
  // where it never does.
  Result<TimeUs> WholeFrom() const {
    const std::vector<TimeUs> starts = sums_.Starts();
    size_t low = 0;
    size_t high = starts.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      const Result<ExportPlan> plan = PlanFrom(std::max(starts[middle], time_.from));
      if (!plan) return plan.error();
      if (plan->lack.empty()) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low < starts.size() ? std::max(starts[low], time_.from) : time_.to;
  }

  Status ReadBack(const ExportPlan& target, TimeUs from) {
    there_ = EventSums::LikeThoseOf(sums_);
    for (const std::string& table : target.tables) {
      EventPages pages(to_, {plan_.stream, table, plan_.to_unit, {from, time_.to}}, {});
      CopiedPage page;
      while (true) {
        const Result<bool> more = pages.Next(&page);
        if (!more) return more.error();
        if (!*more) break;
        for (const EventLine& event : page.events) there_.Add(event.time, event.digest);
      }
    }
    return {};
  }

  Result<CopyCheck> Compare(const ExportPlan& target, CopyCheck check) const {
    auto difference = sums_.FirstDifference(there_, check.from);
    if (difference && difference->time.from <= check.from) {
      // What the target was about to forget may have gone while it was read.
      const Result<ExportPlan> plan = PlanFrom(check.from);
      if (!plan) return plan.error();
      if (!plan->lack.empty()) {
        check.from = difference->time.to;
        difference = sums_.FirstDifference(there_, check.from);
      }
    }
    check.there = there_.Total(check.from);
    check.is_equal = !difference;
    if (!difference) return check;
    const auto& [time, here, there] = *difference;
    std::set<std::string> tables;
    for (const SourceTable& table : plan_.tables) tables.insert(table.name);
    const bool comes_in_parts = tables.size() > 1 || target.tables.size() > 1;
    if (comes_in_parts &&
        tables != std::set<std::string>(target.tables.begin(), target.tables.end())) {
      check.why = fmt::format(
          "its events come in parts, out of {} in the source and out of {} in the target, which "
          "cannot be compared",
          fmt::join(tables, ", "), fmt::join(target.tables, ", "));
      return check;
    }
    check.why = here.events == there.events
                    ? fmt::format("of {} events from {} to {} some are others in the target",
                                  here.events, FormatRfc3339(time.from), FormatRfc3339(time.to))
                    : fmt::format("from {} to {} {} events were read, and the target gives back {}",
                                  FormatRfc3339(time.from), FormatRfc3339(time.to), here.events,
                                  there.events);
    return check;
  }

  const PatientClient& to_;
  const StreamPlan& plan_;
  const EventSums& sums_;
  const TimeRange time_;
  EventSums there_;
};

}  // namespace

Result<CopyCheck> CheckStream(const PatientClient& to, const StreamPlan& plan,
                              const EventSums& sums, const TimeRange& time) {
  return Checker(to, plan, sums, time).Run();
}

}  // namespace tallyd
