// What a batch would write: the answer of a dry run. Its rows are spelt by the writer of
// api/cell_json.h, as GET .../rows spells them.
#ifndef TALLYD_API_ROUTES_PREVIEW_JSON_H_
#define TALLYD_API_ROUTES_PREVIEW_JSON_H_

#include <string>

#include "service/access/schema_view.h"
#include "storage/batch.h"

namespace tallyd {

// The member `"tables": {"METRIC": [{"key": ..., "cells": ...}]}` of an object that is being
// written, of the tables that whoever asks sees.
void AppendPreview(const PreviewBatch& preview, const Access& access, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_PREVIEW_JSON_H_
