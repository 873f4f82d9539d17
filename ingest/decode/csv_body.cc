#include "ingest/decode/csv_body.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ingest/decode/json_scalar.h"
#include "ingest/decode/superset.h"

namespace tallyd {
namespace {

struct CsvCell {
  std::string_view text;  // Between the quotes, where it has some.
  bool quoted = false;
  bool doubled = false;  // Quotes in it stand twice.
  bool ends_line = false;
};

// The cells of a text, one after the other.
class CsvCells {
 public:
  CsvCells() = default;
  explicit CsvCells(std::string_view text) : text_(text) {}

  // At the beginning of a line: whether there is another that is not blank. Moves to it.
  bool FindLine();
  // Null, or what is wrong with the cell; then SkipLine leads to the next line.
  const char* Take(CsvCell* cell);
  void SkipLine();

  size_t line() const { return line_; }
  // The last fault was of quotes: nobody can tell where the next line begins.
  bool is_broken() const { return broken_; }

 private:
  const char* TakeQuoted(CsvCell* cell);
  const char* TakePlain(CsvCell* cell);
  // How many bytes end a line here: 0, 1 or 2. A carriage return may also be the text's last byte.
  size_t LineEnd() const;

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  bool broken_ = false;
};

size_t CsvCells::LineEnd() const {
  if (at_ == text_.size()) return 0;
  if (text_[at_] == '\n') return 1;
  if (text_[at_] != '\r') return 0;
  if (at_ + 1 == text_.size()) return 1;
  return text_[at_ + 1] == '\n' ? 2 : 0;
}

bool CsvCells::FindLine() {
  while (const size_t end = LineEnd()) {
    at_ += end;
    ++line_;
  }
  return at_ < text_.size();
}

const char* CsvCells::Take(CsvCell* cell) {
  *cell = {};
  const bool quoted = at_ < text_.size() && text_[at_] == '"';
  if (const char* fault = quoted ? TakeQuoted(cell) : TakePlain(cell)) return fault;
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    return nullptr;
  }
  const size_t end = LineEnd();
  if (end == 0 && at_ < text_.size()) {
    broken_ = quoted;
    return quoted ? "more than a comma or the line's end follows a closing quote"
                  : "a carriage return stands in a cell without quotes";
  }
  at_ += end;
  ++line_;
  cell->ends_line = true;
  return nullptr;
}

const char* CsvCells::TakeQuoted(CsvCell* cell) {
  cell->quoted = true;
  const size_t begin = at_ + 1;
  size_t close = begin;
  while (true) {
    close = text_.find('"', close);
    if (close == text_.npos) {
      broken_ = true;
      return "a quote is never closed";
    }
    if (close + 1 == text_.size() || text_[close + 1] != '"') break;
    cell->doubled = true;
    close += 2;
  }
  cell->text = text_.substr(begin, close - begin);
  line_ += static_cast<size_t>(std::ranges::count(cell->text, '\n'));
  at_ = close + 1;
  return nullptr;
}

const char* CsvCells::TakePlain(CsvCell* cell) {
  size_t end = at_;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    if (c == ',' || c == '\n' || c == '\r') break;
    if (c == '"') {
      broken_ = true;
      return "a quote stands in a cell that does not begin with one";
    }
  }
  cell->text = text_.substr(at_, end - at_);
  at_ = end;
  return nullptr;
}

void CsvCells::SkipLine() {
  const size_t end = text_.find('\n', at_);
  at_ = end == text_.npos ? text_.size() : end + 1;
  ++line_;
}

bool IsNumber(std::string_view text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return false;
  Value value;
  return ReadNumber(text, &value) == NumberFault::kNone;
}

class CsvBody final : public BodyDecoder {
 public:
  Status Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) override;
  size_t bytes() const override {
    return (present_.capacity() + last_present_.capacity()) * sizeof(uint32_t) +
           places_.capacity() * sizeof(uint16_t) + scratch_.capacity();
  }

 private:
  bool ReadHeader();
  bool ReadLines();
  bool ReadEvent();
  void AddCell(size_t column, const CsvCell& cell);
  void AddScalar(size_t column, std::string_view text);
  void TellOfQuotes(size_t column);
  bool EndEvent();
  // The shape of the columns in present_; null where the body asks for too many.
  const Shape* FindShape();
  const Shape* LearnShape();
  bool Project();
  std::string_view TextOf(const CsvCell& cell);
  bool IsUtf8(std::string_view text) const;

  // Refuses the event; the first reason stays.
  void Refuse(std::string_view field, std::string_view reason);
  // Ends the body. Always false.
  bool Break(std::string what);

  CsvCells cells_;
  bool all_utf8_ = false;
  ShapeRegistry* shapes_ = nullptr;
  EventBatch* batch_ = nullptr;
  std::vector<std::string_view> names_;  // Of the columns; in the body or the batch's arena.
  std::vector<bool> is_time_;            // By column: it holds a time, quoted or not.
  std::vector<bool> is_told_;            // By column: a warning tells of numbers in quotes.

  size_t line_ = 0;                // Of the event.
  std::vector<uint32_t> present_;  // Its columns that hold something.
  bool refused_ = false;
  Refusal refusal_;

  std::vector<uint32_t> last_present_;
  const Shape* last_shape_ = nullptr;    // Of last_present_.
  const Superset* superset_ = nullptr;   // For lines that fill ever other columns; or null.
  std::vector<uint16_t> column_places_;  // In the superset.
  std::vector<uint16_t> places_;         // Of last_present_, where last_shape_ is the superset's.
  std::map<std::vector<uint32_t>, const Shape*> known_;
  size_t shape_bytes_left_ = 0;
  std::unique_ptr<const Shape> owned_;  // A shape that the batch has yet to take.
  std::string scratch_;
};

Status CsvBody::Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  cells_ = CsvCells(body);
  all_utf8_ = simdjson::validate_utf8(body.data(), body.size());
  shapes_ = &shapes;
  superset_ = shapes.superset();
  batch_ = batch;
  shape_bytes_left_ = MostNameBytes(body.size());
  const bool whole = ReadHeader() && ReadLines();
  // Nothing of this body stays with the connection.
  names_ = {};
  is_time_ = {};
  is_told_ = {};
  column_places_ = {};
  known_.clear();
  last_shape_ = nullptr;
  if (!whole) return Invalid(batch->errors().kept().front().detail);
  return {};
}

bool CsvBody::ReadHeader() {
  if (!cells_.FindLine()) return Break("the body is empty; its first line names the fields");
  for (CsvCell cell; !cell.ends_line;) {
    if (const char* fault = cells_.Take(&cell)) return Break(fmt::format("the header: {}", fault));
    const std::string_view name = TextOf(cell);
    const size_t number = names_.size() + 1;
    if (name.empty()) return Break(fmt::format("the header: column {} has no name", number));
    if (!IsUtf8(name)) {
      return Break(fmt::format("the header: the name of column {} is no UTF-8", number));
    }
    if (name.size() > kMaxFieldNameBytes) {
      return Break(fmt::format("the header: the name of column {} is longer than {} bytes", number,
                               kMaxFieldNameBytes));
    }
    if (number > kMaxCsvColumns) {
      return Break(fmt::format("the header: it has more than {} columns", kMaxCsvColumns));
    }
    names_.push_back(name);
    is_time_.push_back(std::ranges::count(shapes_->time_fields(), name) > 0);
  }
  is_told_.assign(names_.size(), false);
  std::vector<std::string_view> sorted = names_;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return true;
  return Break(fmt::format("the header: \"{}\" stands in it twice", Shown(*twice)));
}

bool CsvBody::ReadLines() {
  while (cells_.FindLine()) {
    if (!ReadEvent()) return false;
  }
  return true;
}

bool CsvBody::ReadEvent() {
  line_ = cells_.line();
  refused_ = false;
  present_.clear();
  batch_->BeginEvent();
  CsvCell cell;
  for (size_t column = 0; !cell.ends_line; ++column) {
    if (const char* fault = cells_.Take(&cell)) {
      if (cells_.is_broken()) return Break(fmt::format("line {}: {}", line_, fault));
      Refuse(column < names_.size() ? names_[column] : std::string_view(), fault);
      cells_.SkipLine();
      break;
    }
    if (column < names_.size()) {
      AddCell(column, cell);
    } else {
      Refuse({}, fmt::format("it has more cells than the header's {}", names_.size()));
    }
  }
  if (!refused_ && present_.empty()) Refuse({}, "it has no fields");
  if (!refused_) return EndEvent();
  batch_->DropEvent(std::move(refusal_));
  return true;
}

void CsvBody::AddCell(size_t column, const CsvCell& cell) {
  if (refused_ || (cell.text.empty() && !cell.quoted)) return;
  if (!IsUtf8(cell.text)) return Refuse(names_[column], "its text is no UTF-8");
  present_.push_back(static_cast<uint32_t>(column));
  if (cell.quoted && !(is_time_[column] && IsNumber(cell.text))) {
    batch_->AddValue(Value::String(TextOf(cell)));
    if (!is_told_[column] && IsNumber(cell.text)) TellOfQuotes(column);
  } else {
    AddScalar(column, cell.text);
  }
}

// Once a column: whoever puts all cells in quotes may not mean text.
void CsvBody::TellOfQuotes(size_t column) {
  is_told_[column] = true;
  batch_->Warn(fmt::format(
      "column \"{}\": its numbers are in quotes, and so are stored as text; without quotes they "
      "are numbers",
      Shown(names_[column])));
}

void CsvBody::AddScalar(size_t column, std::string_view text) {
  const char first = text.front();
  if (first != '-' && (first < '0' || first > '9')) {
    const bool yes = text == "true";
    const bool is_bool = yes || text == "false";
    batch_->AddValue(is_bool ? Value::Bool(yes) : Value::String(text));
    return;
  }
  Value* const value = batch_->NewValue();
  if (ReadShortNumber(text.data(), value) == text.data() + text.size()) [[likely]]
    return;
  switch (ReadNumber(text, value)) {
    case NumberFault::kNone:
      if (value->type() == ValueType::kFloat64 && !value->is_decimal()) batch_->NoteDigits(text);
      return;
    case NumberFault::kMalformed:
      *value = Value::String(text);
      return;
    case NumberFault::kIntegerTooBig:
      return Refuse(names_[column],
                    fmt::format("integer {} does not fit into 64 bits", Shown(text)));
    case NumberFault::kFloatTooBig:
      return Refuse(names_[column],
                    fmt::format("number {} is beyond the range of float64", Shown(text)));
  }
}

bool CsvBody::EndEvent() {
  const Shape* const shape = FindShape();
  if (shape == nullptr) {
    return Break(fmt::format(
        "line {}: the lines leave out columns in too many ways for names as long as these; send "
        "fewer at once, or JSON",
        line_));
  }
  if (owned_) {
    batch_->EndEvent(std::move(owned_));
  } else {
    batch_->EndEvent(shape, places_);
  }
  return true;
}

const Shape* CsvBody::FindShape() {
  if (last_shape_ != nullptr && present_ == last_present_) [[likely]]
    return last_shape_;
  last_present_ = present_;
  if (Project()) {
    last_shape_ = &superset_->shape();
    return last_shape_;
  }
  places_.clear();
  const auto known = known_.find(present_);
  last_shape_ = known != known_.end() ? known->second : LearnShape();
  return last_shape_;
}

// Whether the line is one of the superset; then places_ are its columns' places.
bool CsvBody::Project() {
  if (superset_ == nullptr) return false;
  if (column_places_.empty()) {
    for (const std::string_view name : names_) column_places_.push_back(superset_->PlaceOf(name));
  }
  places_.clear();
  for (const uint32_t column : present_) {
    if (column_places_[column] == Superset::kNoPlace) return false;
    places_.push_back(column_places_[column]);
  }
  return superset_->Serves(places_);
}

const Shape* CsvBody::LearnShape() {
  std::vector<std::string_view> fields;
  size_t bytes = 0;
  for (const uint32_t column : present_) {
    fields.push_back(names_[column]);
    bytes += names_[column].size() + kNameBytes;
  }
  if (bytes > shape_bytes_left_) return nullptr;
  shape_bytes_left_ -= bytes;
  const Shape* shape = shapes_->Intern(fields);
  if (shape == nullptr) {
    auto own = std::make_unique<Shape>();
    own->fields.assign(fields.begin(), fields.end());
    shape = own.get();
    owned_ = std::move(own);
  }
  known_.emplace(present_, shape);
  return shape;
}

std::string_view CsvBody::TextOf(const CsvCell& cell) {
  if (!cell.doubled) return cell.text;
  scratch_.clear();
  for (std::string_view rest = cell.text; !rest.empty();) {
    const size_t quote = rest.find('"');
    if (quote == rest.npos) {
      scratch_.append(rest);
      break;
    }
    scratch_.append(rest.substr(0, quote + 1));
    rest.remove_prefix(quote + 2);
  }
  return batch_->Copy(scratch_);
}

bool CsvBody::IsUtf8(std::string_view text) const {
  return all_utf8_ || simdjson::validate_utf8(text.data(), text.size());
}

void CsvBody::Refuse(std::string_view field, std::string_view reason) {
  if (std::exchange(refused_, true)) return;
  refusal_ = {Shown(field), {}};
  const std::string of_field = field.empty() ? "" : fmt::format("field \"{}\": ", refusal_.field);
  refusal_.detail = fmt::format("line {}: {}{}", line_, of_field, reason);
}

bool CsvBody::Break(std::string what) {
  batch_->Break(batch_->seen(), "not CSV: " + std::move(what));
  return false;
}

}  // namespace

std::unique_ptr<BodyDecoder> MakeCsvBody() { return std::make_unique<CsvBody>(); }

}  // namespace tallyd
