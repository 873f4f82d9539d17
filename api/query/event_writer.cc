#include "api/query/event_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/answer.h"
#include "api/cell_json.h"
#include "api/query/event_columns.h"
#include "api/query/event_lines.h"
#include "api/query/event_page.h"
#include "config/number_text.h"

namespace tallyd {
namespace {

// Writes a page that is known whole.
class JsonPage final : public BodySource {
 public:
  JsonPage(std::unique_ptr<EventRun> run, EventPage page, std::string next)
      : run_(std::move(run)), page_(std::move(page)), next_(std::move(next)) {
    columns_ = ColumnsOfPage(run_.get(), page_.met());
    column_of_.assign(run_->fields().size(), -1);
    for (size_t i = 0; i < columns_.size(); ++i) {
      column_of_[columns_[i].field] = static_cast<int>(i);
    }
    numbers_.resize((columns_.size() + 1) * (kMaxNumberText + 1));
  }

  Result<bool> Next(std::string* chunk) override {
    if (!std::exchange(begun_, true)) AppendHead(chunk);
    for (; next_row_ < page_.size(); ++next_row_) {
      if (chunk->size() >= kChunkBytes) return true;
      if (next_row_ > 0) chunk->push_back(',');
      AppendRow(next_row_, chunk);
    }
    AppendTail(chunk);
    return false;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  void AppendHead(std::string* out) const {
    out->append("{\"columns\":[\"ts\"");
    for (const EventColumn& column : columns_) {
      out->push_back(',');
      AppendJsonString(column.label, out);
    }
    out->append("],\"rows\":[");
  }

  // By column: the place of its value in events of the shape; kNone where they have none.
  const std::vector<uint32_t>& OrderOf(size_t shape) {
    if (shape == ordered_shape_) return order_;
    ordered_shape_ = shape;
    order_.assign(columns_.size(), kNone);
    const std::span<const uint32_t> fields = page_.FieldsOf(shape);
    for (size_t place = 0; place < fields.size(); ++place) {
      const int column = column_of_[fields[place]];
      if (column >= 0) order_[static_cast<size_t>(column)] = static_cast<uint32_t>(place);
    }
    return order_;
  }

  // Numbers are written one after the other, and appended before what is none.
  void AppendRow(size_t event, std::string* out) {
    const Value* values = page_.ValuesOf(event);
    out->push_back('[');
    AppendJsonTime(page_.TimeOf(event), out);
    char* to = numbers_.data();
    for (const uint32_t place : OrderOf(page_.ShapeOf(event))) {
      *to++ = ',';
      if (place != kNone && values[place].is_number()) {
        to = WriteNumber(values[place], to);
        continue;
      }
      out->append(numbers_.data(), to);
      to = numbers_.data();
      AppendJsonValue(place == kNone ? Value() : values[place], out);
    }
    out->append(numbers_.data(), to);
    out->push_back(']');
  }

  void AppendTail(std::string* out) const {
    out->append("],\"plan\":{");
    AppendPlanMembers(run_->plan(), out);
    out->append(",\"rows_read\":" + std::to_string(run_->rows_read()));
    out->append("},\"next\":");
    if (next_.empty()) {
      out->append("null");
    } else {
      AppendJsonString(next_, out);
    }
    out->append("}\n");
  }

  std::unique_ptr<EventRun> run_;
  EventPage page_;
  std::string next_;
  std::vector<EventColumn> columns_;
  std::vector<int> column_of_;  // By field; -1: not in the answer.
  size_t ordered_shape_ = kNone;
  std::vector<uint32_t> order_;  // Of that shape.
  std::vector<char> numbers_;
  bool begun_ = false;
  size_t next_row_ = 0;
};

// Lines to the end, while the client takes them.
class LineStream final : public BodySource {
 public:
  explicit LineStream(std::unique_ptr<EventRun> run) : run_(std::move(run)), lines_(run_.get()) {}

  Result<bool> Next(std::string* chunk) override {
    if (!std::exchange(begun_, true)) lines_.AppendHeader(chunk);
    if (Status status = run_->Refresh(); !status) return status.error();
    while (chunk->size() < kChunkBytes) {
      const Result<bool> more = run_->Next();
      if (!more || !*more) return more;
      run_->CountReturned();
      lines_.Append(run_->event(), chunk);
    }
    return true;
  }

 private:
  std::unique_ptr<EventRun> run_;
  EventLines lines_;
  bool begun_ = false;
};

// Takes events until the page is full, then looks whether there are more: *next is the cursor then.
template <class Take, class BytesTaken>
Status FillPage(EventRun* run, Take take, BytesTaken bytes_taken, std::string* next) {
  const uint64_t limit = run->query().limit.value_or(kDefaultLimit);
  std::string cursor;
  for (uint64_t taken = 0;; ++taken) {
    const Result<bool> more = run->Next();
    if (!more) return more.error();
    if (!*more) return {};
    if (!cursor.empty()) {
      *next = std::move(cursor);
      return {};
    }
    take(run->event());
    run->CountReturned();
    if (taken + 1 == limit || bytes_taken() >= kPageBytes) cursor = run->Cursor();
  }
}

Response AnswerJson(std::unique_ptr<EventRun> run) {
  EventPage page([run = run.get()](uint32_t field) { return run->IsAnswered(field); });
  std::string next;
  const auto take = [&](const EventView& event) { page.Add(event); };
  const Status filled = FillPage(
      run.get(), take, [&] { return page.bytes(); }, &next);
  if (!filled) return ProblemOf(filled.error());
  return StartBody(ContentTypeOf(AnswerFormat::kJson),
                   std::make_unique<JsonPage>(std::move(run), std::move(page), std::move(next)));
}

Response AnswerLimitedLines(const Request& request, std::unique_ptr<EventRun> run) {
  Response response;
  response.content_type = ContentTypeOf(run->query().format);
  EventLines lines(run.get());
  lines.AppendHeader(&response.body);
  std::string next;
  const auto take = [&](const EventView& event) { lines.Append(event, &response.body); };
  const Status filled = FillPage(
      run.get(), take, [&] { return response.body.size(); }, &next);
  if (!filled) return ProblemOf(filled.error());
  if (!next.empty()) response.headers.emplace_back("Link", NextLink(request, next));
  return response;
}

}  // namespace

Response AnswerEvents(const Request& request, std::unique_ptr<EventRun> run) {
  if (Status status = run->Start(); !status) return ProblemOf(status.error());
  if (run->query().format == AnswerFormat::kJson) return AnswerJson(std::move(run));
  if (run->query().limit) return AnswerLimitedLines(request, std::move(run));
  const std::string_view content_type = ContentTypeOf(run->query().format);
  return StartBody(content_type, std::make_unique<LineStream>(std::move(run)));
}

}  // namespace tallyd
