// What the store knows of the data, for lint. Little is read, whatever is stored: the names and
// types of a stream's fields from its catalogue; the values of a row key's leading field by
// skipping from one to the next; the largest value of a table from a sample of its rows.
// docs/lint.md tells how much that is, and so what can be missed.
#ifndef TALLYD_SERVICE_LINT_LIVE_FACTS_H_
#define TALLYD_SERVICE_LINT_LIVE_FACTS_H_

#include <set>
#include <string>

#include "config/lint/lint.h"
#include "storage/store.h"

namespace tallyd {

// The types of fields alone, which costs no look at the disk.
LiveFacts ReadFieldTypes(const Schema& schema, const Store& store);
// Blocks on the disk. An error is the store's.
Result<LiveFacts> ReadLiveFacts(const Schema& schema, Store& store, TimeUs now);

// Whether the values can hardly be anything else: five at least, all of them hexadecimal or Base64
// and as long as a hash is.
bool LookHashed(const std::set<std::string>& values);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LINT_LIVE_FACTS_H_
