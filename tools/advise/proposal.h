// Tables that a stream could have, one a pattern, as text of a configuration.
#ifndef TALLYD_TOOLS_ADVISE_PROPOSAL_H_
#define TALLYD_TOOLS_ADVISE_PROPOSAL_H_

#include <string>
#include <vector>

#include "tools/advise/sample.h"

namespace tallyd {

struct Proposal {
  const char* pattern = "";  // Its name in the configuration.
  std::string table;
  std::string toml;  // [tables.TABLE] and what belongs to it.
  bool is_latest = false;
};

// The names that the tables get: not among those `taken`.
struct ProposedNames {
  std::string history;
  std::string latest;
};
ProposedNames NamesFor(const std::string& stream, const std::vector<std::string>& taken);

// History patterns, the simplest first, and at last the table of latest values. Bucket patterns
// take the longest bucket that is to have a bounded number of events.
std::vector<Proposal> Propose(const AdviseSubject& subject, const Sample& sample,
                              const ProposedNames& names);

// [streams.S], where its time field or unit are not the default; else empty.
std::string StreamSection(const AdviseSubject& subject);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_ADVISE_PROPOSAL_H_
