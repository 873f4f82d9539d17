// What a batch would write, as JSON: the answer of a dry run.
#ifndef TALLYD_API_ROUTES_PREVIEW_JSON_H_
#define TALLYD_API_ROUTES_PREVIEW_JSON_H_

#include <string>

#include "config/schema/schema.h"
#include "storage/batch.h"

namespace tallyd {

// {"tables": {"METRIC": [{"key": ..., "cells": ...}]} without the closing brace, so that errors may
// follow.
std::string PreviewJson(const PreviewBatch& preview, const Schema& schema);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_PREVIEW_JSON_H_
