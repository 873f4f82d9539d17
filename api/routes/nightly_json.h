// What /v1/status tells of nightly tables: those that are being built, are behind their source, or
// failed, and of each source the newest that is there.
#ifndef TALLYD_API_ROUTES_NIGHTLY_JSON_H_
#define TALLYD_API_ROUTES_NIGHTLY_JSON_H_

#include "api/context.h"
#include "ingest/text/json.h"

namespace tallyd {

Json JsonOfNightly(const ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_NIGHTLY_JSON_H_
