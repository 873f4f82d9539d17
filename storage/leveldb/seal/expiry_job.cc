#include "storage/leveldb/seal/expiry_job.h"

#include <algorithm>
#include <limits>

namespace tallyd {
namespace {

constexpr TimeUs kEver = std::numeric_limits<TimeUs>::max();

// How long after its newest cell a file of this table has nothing to give; kEver: always something.
TimeUs LifeOf(const TableInfo& table) {
  TimeUs life = table.families.empty() ? kEver : 0;
  for (const StoredFamily& family : table.families) {
    const Family& rules = family.rules;
    const bool by_age =
        family.configured && rules.max_age_us && !(rules.expire_by_both && rules.max_versions);
    // An age beyond all times is none, and no sum with one may overflow.
    const bool ends = by_age && *rules.max_age_us <= kMaxTimeUs;
    life = std::max(life, ends ? TimeUs{*rules.max_age_us} : kEver);
  }
  return life;
}

bool MayCover(const BlockFileInfo& later, const BlockFileInfo& earlier) {
  return earlier.min_sequence < later.max_sequence && earlier.min_time <= later.max_time &&
         later.min_time <= earlier.max_time && earlier.first_key <= later.last_key &&
         later.first_key <= earlier.last_key;
}

// Of these files, which are in the order of `all`, only those that cover no write in one that
// stays: what has expired by clock and rules of today may not have by those of tomorrow, and then
// no value may be seen that was corrected.
View::Files MayGo(View::Files expired, const View::Files& all) {
  View::Files staying;
  auto next = expired.begin();
  for (const BlockFilePtr& file : all) {
    if (next != expired.end() && *next == file) {
      ++next;
    } else {
      staying.push_back(file);
    }
  }
  for (size_t kept = 0; kept < staying.size(); ++kept) {
    for (size_t i = 0; i < expired.size();) {
      if (MayCover(expired[i]->info(), staying[kept]->info())) {
        staying.push_back(expired[i]);
        expired.erase(expired.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  return expired;
}

}  // namespace

bool ExpiryJob::IsNew(const ViewPtr& view) {
  std::vector<TablePtr> tables = context_.state().catalogue.Tables();
  const bool same = view_.lock() == view && tables == tables_;
  tables_ = std::move(tables);
  view_ = view;
  return !same;
}

Result<Progress> ExpiryJob::Work(const ViewPtr& view) {
  const bool is_due = std::chrono::steady_clock::now() >= next_ || context_.settle.active;
  if (!IsNew(view) && !is_due) return Progress::kNone;
  const View::Files expired = FindExpired(*view);
  if (expired.empty()) return Progress::kNone;
  const Status dropped = context_.Replace(context_.NewBatch(), expired, {}, nullptr);
  if (!dropped) return dropped.error();
  return Progress::kSome;
}

View::Files ExpiryJob::FindExpired(const View& view) {
  std::map<TableId, TimeUs> lives;
  for (const TablePtr& table : tables_) lives[table->id] = LifeOf(*table);
  const TimeUs now = context_.retention_now();
  TimeUs least_left = kEver;
  View::Files expired;
  for (const auto& [table, files] : view.files) {
    const auto life = lives.find(table);
    View::Files of_table;
    for (const BlockFilePtr& file : *files) {
      if (life == lives.end()) {
        of_table.push_back(file);  // Of a table that was dropped.
      } else if (life->second != kEver && file->info().max_time < now - life->second) {
        of_table.push_back(file);
      } else if (life->second != kEver) {
        least_left = std::min(least_left, file->info().max_time + life->second - now + 1);
      }
    }
    if (of_table.empty()) continue;
    of_table = MayGo(std::move(of_table), *files);
    expired.insert(expired.end(), of_table.begin(), of_table.end());
  }
  next_ = least_left == kEver ? kNever : LookAgain(least_left);
  return expired;
}

}  // namespace tallyd
