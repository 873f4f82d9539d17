#include "storage/cell_merge.h"

namespace tallyd {

GcRule GcRule::Of(const StoredFamily& family, TimeUs now) {
  GcRule rule;
  rule.visible = family.configured;
  if (!family.configured) return rule;
  const Family& keep = family.rules;
  if (keep.max_age_us) rule.oldest = now - *keep.max_age_us;
  if (keep.max_versions) rule.max_versions = *keep.max_versions;
  rule.both = keep.expire_by_both && keep.max_age_us && keep.max_versions;
  return rule;
}

}  // namespace tallyd
