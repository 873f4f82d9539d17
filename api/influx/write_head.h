// What the request line and the headers of a write say, by its dialect: /write, /api/v2/write,
// /api/v3/write_lp. Parameters that mean nothing here (rp, org, consistency, no_sync...) are taken
// as they come, since agents send them.
#ifndef TALLYD_API_INFLUX_WRITE_HEAD_H_
#define TALLYD_API_INFLUX_WRITE_HEAD_H_

#include <optional>

#include "api/influx/influx_form.h"
#include "api/request.h"
#include "ingest/decode/decompress.h"
#include "ingest/lines/line_text.h"

namespace tallyd {

struct InfluxWriteHead {
  LinePrecision precision = LinePrecision::kNanoseconds;
  ContentEncoding encoding = ContentEncoding::kIdentity;
  bool accepts_partial = true;  // Good lines are stored where others are bad.
};

// *refusal where the head alone is wrong: its answer, in the dialect's form.
InfluxWriteHead ReadInfluxWriteHead(InfluxDialect dialect, const Request& request,
                                    std::optional<Response>* refusal);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_WRITE_HEAD_H_
