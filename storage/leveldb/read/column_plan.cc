#include "storage/leveldb/read/column_plan.h"

#include <algorithm>

#include "config/values/glob.h"

namespace tallyd {
namespace {

constexpr size_t kMaxPicks = 65'536;

}  // namespace

ColumnPlan::ColumnPlan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets)
    : table_(std::move(table)), patterns_(spec.columns), sets_(sets) {
  for (const StoredFamily& family : table_->families) {
    GcRule rule = GcRule::Of(family, spec.now);
    rule.visible = rule.visible &&
                   (patterns_.empty() ||
                    std::any_of(patterns_.begin(), patterns_.end(), [&](const ColumnPattern& p) {
                      return GlobMatches(p.family, family.name);
                    }));
    rules_.push_back(rule);
  }
}

ColumnPlan::ColumnPlan(TablePtr table, const ColumnRegistry& sets, TimeUs now)
    : table_(std::move(table)), sets_(sets) {
  for (const StoredFamily& family : table_->families) {
    rules_.push_back(GcRule::Of(family, now));
    rules_.back().visible = true;
  }
}

bool ColumnPlan::any_visible() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const GcRule& r) { return r.visible; });
}

bool ColumnPlan::counts_versions() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const GcRule& r) { return r.visible && r.counts_versions(); });
}

TimeUs ColumnPlan::oldest() const {
  TimeUs oldest = std::numeric_limits<TimeUs>::max();
  for (const GcRule& rule : rules_) {
    if (!rule.visible) continue;
    oldest = std::min(oldest, rule.oldest_of_all());
  }
  return oldest;
}

TimeUs ColumnPlan::ageless_from() const {
  TimeUs from = std::numeric_limits<TimeUs>::min();
  for (const GcRule& rule : rules_) {
    if (rule.visible) from = std::max(from, rule.oldest);
  }
  return from;
}

const ColumnPlan::OfSet* ColumnPlan::Set(uint32_t number) {
  if (last_ != nullptr && last_->set->id == number) return last_;
  std::unique_ptr<OfSet>& plan = plans_[number];
  if (!plan) {
    const ColumnSet* set = sets_.Find(table_->id, number);
    if (set == nullptr) return nullptr;
    plan = std::make_unique<OfSet>();
    plan->set = set;
    plan->ageless_from = std::numeric_limits<TimeUs>::min();
    for (const Column& column : set->columns) {
      const Pick& pick = Named(column.ref());
      plan->picks.push_back(pick);
      if (!pick.selected) continue;
      plan->end = static_cast<uint32_t>(plan->picks.size());
      plan->ageless_from = std::max(plan->ageless_from, pick.rule->oldest);
    }
  }
  last_ = plan.get();
  return last_;
}

const ColumnPlan::Pick& ColumnPlan::Named(const ColumnRef& column) {
  const auto known = picks_.find(column);
  if (known != picks_.end()) return known->second;
  const Column name{column.family, std::string(column.qualifier)};
  const auto added = picks_.emplace(name, MakePick(column)).first;
  added->second.name = added->first.ref();
  return added->second;
}

void ColumnPlan::BeginRow() {
  if (picks_.size() <= kMaxPicks) return;
  picks_.clear();
  plans_.clear();
  last_ = nullptr;
  next_number_ = 0;
  ++generation_;
}

bool ColumnPlan::Selects(const ColumnRef& column) const {
  if (patterns_.empty()) return true;
  const std::string& family = table_->families[column.family].name;
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const ColumnPattern& pattern) {
    return GlobMatches(pattern.family, family) && GlobMatches(pattern.qualifier, column.qualifier);
  });
}

ColumnPlan::Pick ColumnPlan::MakePick(const ColumnRef& column) {
  Pick pick;
  if (column.family >= rules_.size()) return pick;  // Added after this scan's TableInfo was made.
  pick.rule = &rules_[column.family];
  pick.selected = pick.rule->visible && Selects(column);
  if (pick.selected) pick.number = next_number_++;
  return pick;
}

}  // namespace tallyd
