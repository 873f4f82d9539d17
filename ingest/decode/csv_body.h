// CSV (RFC 4180): a header line names the fields, each line behind it is an event. An empty cell is
// absent, and so are those that a line lacks at its end; surplus cells refuse the event. A cell
// that JSON would read as a number or a bool is one, any other is text; a quoted cell is text in
// any case, also the empty one. Lines end with LF or CRLF, blank ones are none.
//
// Values view the body; only quoted cells that hold quotes are copied. A bad line is an error of
// its own and decoding goes on behind it. Where a quote is never closed, stands in a cell that does
// not begin with one, or is closed before the cell ends, nobody can tell where the next line
// begins: that, and a header that does not name each column once, ends the body.
#ifndef TALLYD_INGEST_DECODE_CSV_BODY_H_
#define TALLYD_INGEST_DECODE_CSV_BODY_H_

#include <memory>

#include "ingest/decode/body_decoder.h"

namespace tallyd {

inline constexpr size_t kMaxCsvColumns = 16'384;

std::unique_ptr<BodyDecoder> MakeCsvBody();

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_CSV_BODY_H_
