#include "tools/copy/cell_copy.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "ingest/text/percent.h"
#include "tools/copy/json_slices.h"
#include "tools/copy/row_line.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

constexpr size_t kRowsOfPage = 500;
constexpr size_t kSenders = 8;
constexpr size_t kMutations = 20'000;
constexpr size_t kMutationBytes = 4u << 20;

// What must be equal for a cell of one to be a cell of the other.
Json ShapeOf(const Json& table) {
  Json shape = Json::object();
  for (const char* member : {"stream", "pattern", "row_key", "keep", "time", "when", "columns"}) {
    if (table.contains(member)) shape[member] = table[member];
  }
  const Json families = table.value("families", Json::object());
  for (const auto& [name, rules] : families.items()) {
    shape["families"][name] = {{"aggregate", StateText(rules, "aggregate")},
                               {"bucket", StateText(rules, "bucket")}};
  }
  return shape;
}

std::set<std::string> AddingFamilies(const Schema& schema, const std::string& name) {
  std::set<std::string> adding;
  const Table* const table = schema.FindTable(name);
  for (const Family& family : table->families) {
    if (family.aggregate) adding.insert(family.name);
  }
  return adding;
}

Status AddRows(std::string_view page, const std::string& table, const std::set<std::string>& adding,
               uint64_t* rows, EventSums* sums) {
  for (const std::string_view line : LinesOf(page)) {
    const Result<RowLine> row = ReadRowLine(line, adding);
    if (!row) return row.error();
    ++*rows;
    for (const RowLine::Cell& cell : row->cells) {
      sums->Add(cell.time, XXH64(table.data(), table.size(), cell.digest));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> TablesForCells(const CopyEnds& ends, const std::string& stream) {
  std::vector<std::string> names;
  for (const size_t index : ends.schema.FindStream(stream)->tables) {
    const std::string& name = ends.schema.tables[index].name;
    const std::string path = "/v1/tables/" + EncodePercent(name);
    const Result<HttpAnswer> from = ends.from.Ask({"GET", path, {}, {}});
    if (!from) return from.error();
    const Result<Json> to = ends.to.GetJson(path);
    if (!to) return to.error();
    const Json there = Json::parse(from->body, nullptr, false);
    if (from->status != kHttpOk || !there.is_object()) {
      return Error(ErrorCode::kConflict, "the source has no table " + name);
    }
    if (ShapeOf(there) != ShapeOf(*to)) {
      return Error(ErrorCode::kConflict,
                   fmt::format("table {} has another key, pattern, rules or families there", name));
    }
    names.push_back(name);
  }
  return names;
}

CellCopy::CellCopy(const CopyEnds& ends, std::string stream, std::vector<std::string> tables,
                   const TimeRange& time, std::string id, StreamCopy::Keep keep)
    : ends_(ends),
      stream_(std::move(stream)),
      tables_(std::move(tables)),
      time_(time),
      id_(std::move(id)),
      keep_(std::move(keep)) {}

bool CellCopy::IsToldBy(const Json& told) { return told.is_object() && told.contains("cells_of"); }

std::vector<std::string> CellCopy::TablesIn(const Json& told) {
  std::vector<std::string> tables;
  for (const Json& name : told.value("cells_of", Json::array())) {
    if (name.is_string()) tables.push_back(name.get<std::string>());
  }
  return tables;
}

Json CellCopy::Told() const {
  return {{"cells_of", tables_},   {"table", table_}, {"next", next_},
          {"sequence", sequence_}, {"rows", rows_},   {"sums", sums_.ToJson()}};
}

Status CellCopy::Resume(const Json& told, std::string chunk) {
  Result<EventSums> sums = EventSums::OfJson(told.value("sums", Json()));
  if (!sums) return sums.error();
  sums_ = std::move(*sums);
  table_ = StateNumber(told, "table");
  next_ = StateText(told, "next");
  sequence_ = StateNumber(told, "sequence");
  rows_ = StateNumber(told, "rows");
  chunk_ = std::move(chunk);
  if (table_ < tables_.size()) return {};
  return Error(ErrorCode::kCorruption, "it names a table that there is not");
}

std::string CellCopy::FirstPage(const std::string& table) const {
  std::string path = fmt::format("/v1/tables/{}/rows?raw=1&format=ndjson&limit={}",
                                 EncodePercent(table), kRowsOfPage);
  if (time_.from > 0) path += "&from=" + QueryTimeText(time_.from);
  if (time_.to <= kMaxTimeUs) path += "&to=" + QueryTimeText(time_.to);
  return path;
}

Status CellCopy::Run(ToolProgress* progress) {
  const bool resumes = sequence_ > 0;
  if (resumes) {
    if (Status sent = Send(progress); !sent) return sent;
    if (next_.empty()) ++table_;
  }
  for (; table_ < tables_.size(); ++table_) {
    const auto adding = AddingFamilies(ends_.schema, tables_[table_]);
    if (next_.empty()) next_ = FirstPage(tables_[table_]);
    while (!next_.empty()) {
      Result<HttpAnswer> page = ends_.from.Ask({"GET", next_, {}, {}});
      if (!page) return page.error();
      if (page->status != kHttpOk) return Error(ErrorCode::kConflict, DetailOf(*page));
      next_ = NextPath(*page);
      if (Status read = AddRows(page->body, tables_[table_], adding, &rows_, &sums_); !read)
        return read;
      chunk_ = std::move(page->body);
      ++sequence_;
      if (Status kept = keep_(Told(), chunk_); !kept) return kept;
      if (Status sent = Send(progress); !sent) return sent;
    }
  }
  return {};
}

Status CellCopy::Send(ToolProgress* progress) {
  const std::vector<std::string_view> rows = LinesOf(chunk_);
  std::vector<Status> results(std::min(kSenders, rows.size()));
  std::atomic<size_t> next_row{0};
  {
    std::vector<std::jthread> senders;
    for (Status& result : results) {
      senders.emplace_back([&] {
        for (size_t i = next_row++; i < rows.size() && result; i = next_row++) {
          result = SendRow(rows[i], i);
        }
      });
    }
  }
  for (const Status& result : results) {
    if (!result) return result;
  }
  progress->done += chunk_.size();
  chunk_.clear();
  return {};
}

Status CellCopy::SendRow(std::string_view line, size_t index) const {
  const std::string& table = tables_[table_];
  const Result<RowLine> row = ReadRowLine(line, AddingFamilies(ends_.schema, table));
  if (!row) return row.error();
  const std::string path =
      fmt::format("/v1/tables/{}/rows/{}/mutations", EncodePercent(table), EncodePercent(row->key));
  std::vector<std::string> mutations;
  size_t bytes = 0;
  size_t part = 0;
  const auto send = [&]() -> Status {
    const std::string key = fmt::format("copy-{}-{}-{}-{}", id_, sequence_, index, part++);
    Status sent = SendMutations(path, key, mutations);
    mutations.clear();
    bytes = 0;
    return sent;
  };
  for (const RowLine::Cell& cell : row->cells) {
    if (!mutations.empty() &&
        (mutations.size() == kMutations || bytes + cell.mutation.size() > kMutationBytes)) {
      if (Status sent = send(); !sent) return sent;
    }
    bytes += cell.mutation.size();
    mutations.push_back(cell.mutation);
  }
  return mutations.empty() ? Status() : send();
}

Status CellCopy::SendMutations(const std::string& path, const std::string& key,
                               const std::vector<std::string>& mutations) const {
  const std::string body = fmt::format("{{\"mutations\":[{}]}}", fmt::join(mutations, ","));
  const Result<HttpAnswer> answer = ends_.to.Ask(
      {"POST", path, {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, body});
  if (!answer) return answer.error();
  if (answer->status == kHttpOk) return {};
  if (answer->status == kHttpTooLarge && mutations.size() > 1) {
    const auto half = mutations.begin() + static_cast<std::ptrdiff_t>(mutations.size() / 2);
    Status sent = SendMutations(path, key + "a", {mutations.begin(), half});
    return sent ? SendMutations(path, key + "b", {half, mutations.end()}) : sent;
  }
  return Error(ErrorCode::kInvalid,
               fmt::format("the target answers {} to {}", DetailOf(*answer), path));
}

Result<EventSums> CellCopy::ReadBack(const PatientClient& end) const {
  EventSums there = EventSums::LikeThoseOf(sums_);
  uint64_t rows = 0;
  for (const std::string& table : tables_) {
    const auto adding = AddingFamilies(ends_.schema, table);
    for (std::string next = FirstPage(table); !next.empty();) {
      const Result<HttpAnswer> page = end.Ask({"GET", next, {}, {}});
      if (!page) return page.error();
      if (page->status != kHttpOk) return Error(ErrorCode::kConflict, DetailOf(*page));
      if (Status read = AddRows(page->body, table, adding, &rows, &there); !read)
        return read.error();
      next = NextPath(*page);
    }
  }
  return there;
}

}  // namespace tallyd
