// What a removal forgot, in its answer.
#ifndef TALLYD_API_REMOVAL_COUNT_JSON_H_
#define TALLYD_API_REMOVAL_COUNT_JSON_H_

#include "ingest/text/json.h"
#include "service/removal/removal_count.h"

namespace tallyd {

// {"rows": 3, "cells": 5, "counted": "exact"}, as far as it is known.
Json JsonOfCount(const RemovalCount& count);

}  // namespace tallyd

#endif  // TALLYD_API_REMOVAL_COUNT_JSON_H_
