// The formats of answers: how each is called in `format=` and in Accept, and, of those that write
// a record of columns a line, how one is spelled. A format that is one more spelling of records is
// a row of the list here; any other has a class of its own in MakeEventFormat and MakeRowFormat.
#ifndef TALLYD_API_ANSWER_FORMAT_H_
#define TALLYD_API_ANSWER_FORMAT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tallyd {

enum class AnswerFormat : uint8_t { kJson, kNdjson, kCsv, kTsv };

// How records are spelled. Numbers, bools and times are written as they are, text by append_text,
// and what an event lacks as `absent`, which no text is.
struct RecordSyntax {
  char separator;
  std::string_view line_end;
  std::string_view absent;
  void (*append_text)(std::string_view text, std::string* out);
};

// A field of CSV (RFC 4180). Quoted is what must be, the empty text, and text that would read as a
// number or a bool: so the types survive in a reader who goes by the quotes, as our own does.
void AppendCsvText(std::string_view text, std::string* out);

inline constexpr RecordSyntax kCsvSyntax = {',', "\r\n", "", AppendCsvText};

// A field of tab-separated values, which hold no tab and no line end (IANA's type forbids them):
// with the escapes \t \n \r \\ of PostgreSQL's COPY and ClickHouse's TabSeparated, which both
// read \N as absent.
void AppendTsvText(std::string_view text, std::string* out);

inline constexpr RecordSyntax kTsvSyntax = {'\t', "\n", "\\N", AppendTsvText};

struct AnswerFormatInfo {
  AnswerFormat format;
  std::string_view name;                        // Of `format=`.
  std::array<std::string_view, 2> media_types;  // Of Accept; the second may be empty.
  std::string_view content_type;
  const RecordSyntax* records = nullptr;  // Null: not a format of records.
};

// Of formats that Accept wishes for alike the first is chosen; each stands at its enum's place.
inline constexpr AnswerFormatInfo kAnswerFormats[] = {
    {AnswerFormat::kJson, "json", {"application/json"}, "application/json"},
    {AnswerFormat::kNdjson,
     "ndjson",
     {"application/x-ndjson", "application/ndjson"},
     "application/x-ndjson"},
    {AnswerFormat::kCsv,
     "csv",
     {"text/csv"},
     "text/csv; charset=utf-8; header=present",
     &kCsvSyntax},
    {AnswerFormat::kTsv,
     "tsv",
     {"text/tab-separated-values"},
     "text/tab-separated-values; charset=utf-8",
     &kTsvSyntax},
};

constexpr const AnswerFormatInfo& InfoOf(AnswerFormat format) {
  return kAnswerFormats[static_cast<size_t>(format)];
}

}  // namespace tallyd

#endif  // TALLYD_API_ANSWER_FORMAT_H_
