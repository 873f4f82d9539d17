// Which of the patterns that were tried is recommended, and why.
#ifndef TALLYD_TOOLS_ADVISE_ADVICE_H_
#define TALLYD_TOOLS_ADVISE_ADVICE_H_

#include <string>
#include <vector>

#include "tools/advise/trial.h"

namespace tallyd {

struct Advice {
  std::string pattern;  // Of history; the table of latest values stands beside it.
  std::string reason;   // A sentence with what was measured.
};

// `results` in order of simplicity: a later pattern must be better by more than measurements err.
// Those that were refused are passed over. REQUIRES: one of the others is no "latest".
Advice Advise(const std::vector<TrialResult>& results);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_ADVISE_ADVICE_H_
