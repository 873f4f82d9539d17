#include "storage/cell_merge.h"

#include <algorithm>

namespace tallyd {

GcRule GcRule::Of(const StoredFamily& family, TimeUs now) {
  GcRule rule;
  rule.visible = family.configured;
  if (!family.configured) return rule;
  const Family& keep = family.rules;
  // No cell is older than the epoch; the clock may say so, and the age may be any.
  if (keep.max_age_us) rule.oldest = std::max<TimeUs>(now, 0) - *keep.max_age_us;
  if (keep.max_versions) rule.max_versions = *keep.max_versions;
  rule.both = keep.expire_by_both && keep.max_age_us && keep.max_versions;
  return rule;
}

}  // namespace tallyd
