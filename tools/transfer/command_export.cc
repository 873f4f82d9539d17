// tallyd export: a stream's events, in the order in which they are read the fastest, a page at a
// time, to a file or to standard output. With --output FILE.state beside it tells how far it is,
// until it is done: --resume goes on there, behind the last page that the file has whole. What the
// daemon forgets, or finds to have fallen together, while it is read is told: at the end it is
// asked again what the tables that were read may lack.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "config/values/time.h"
#include "ingest/text/percent.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/transfer/csv_spelling.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/patient_client.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kPageEvents = 20'000;
// What is written is made durable so often: a crash costs what came since.
constexpr std::chrono::seconds kKeepEvery{1};

// Where the events go. What is not a file is written only.
class Output {
 public:
  // Cuts a file that is there to its first `bytes`.
  Status Open(const std::string& path, uint64_t bytes) {
    name_ = path.empty() ? "standard output" : path;
    file_ =
        path.empty() ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) return Failed();
    if (path.empty()) return {};
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) return Failed();
    if (::lseek(file_, 0, SEEK_END) != static_cast<off_t>(bytes)) return Failed();
    bytes_ = bytes;
    return {};
  }

  Status Write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t wrote = ::write(file_, text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return Failed();
      text.remove_prefix(static_cast<size_t>(wrote));
      bytes_ += static_cast<uint64_t>(wrote);
    }
    return {};
  }
  Status Sync() {
    if (file_ == STDOUT_FILENO || ::fsync(file_) == 0) return {};
    return Failed();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  Error Failed() const { return Error(ErrorCode::kIo, name_ + ": " + std::strerror(errno)); }

  std::string name_;
  int file_ = -1;  // Closed by the end of the process.
  uint64_t bytes_ = 0;
};

// The format that the name of a file says; empty where it says none.
std::string FormatOfName(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension();
  if (ending == ".csv") return "csv";
  if (ending == ".ndjson" || ending == ".jsonl") return "ndjson";
  return {};
}

std::string FormatOf(const TransferLine& line) {
  if (!line.format.empty()) return line.format;
  const std::string named = FormatOfName(line.output);
  return named.empty() ? "ndjson" : named;
}

// What the command line contradicts itself in.
Status CheckLine(const TransferLine& line) {
  if (line.resume && line.output.empty()) return Invalid("--resume needs --output");
  const std::string named = FormatOfName(line.output);
  if (named.empty() || line.format.empty() || named == line.format) return {};
  return Invalid(
      fmt::format("--output {} says {}, and --format says {}: leave one of them out, or "
                  "let them say the same",
                  line.output, named, line.format));
}

class Export {
 public:
  Export(const TransferLine& line, PatientClient client)
      : line_(line),
        client_(std::move(client)),
        format_(FormatOf(line)),
        state_path_(line.output.empty() ? "" : line.output + ".state") {}

  // What may be missing; empty: nothing is.
  Result<std::string> Run(ToolProgress* progress) {
    if (Status begun = Begin(); !begun) return begun.error();
    if (plan_.tables.size() > 1 && format_ == "csv") {
      return Invalid(
          "no one table holds everything, and CSV has the columns of one: use NDJSON, "
          "or name one by --table: " +
          fmt::format("{}", fmt::join(plan_.tables, ", ")));
    }
    if (format_ == "csv") {
      if (Status learned = LearnSpelling(); !learned) return learned.error();
    }
    while (table_ < plan_.tables.size()) {
      if (Status page = Page(); !page) return page.error();
      progress->done = output_.bytes();
    }
    if (Status looked = LookAgain(); !looked) return looked.error();
    if (Status synced = output_.Sync(); !synced) return synced.error();
    if (Status dropped = DropState(); !dropped) return dropped.error();
    return plan_.lack;
  }

 private:
  Status Begin() {
    std::optional<Json> state;
    if (line_.resume) {
      Result<std::optional<Json>> kept = ReadState(state_path_);
      if (!kept) return kept.error();
      state = std::move(*kept);
    }
    // One that goes on does so with the store that it began with.
    if (state) client_.HoldTo(MomentOfJson(state->value("store", Json())));
    Result<StoreMoment> store = client_.CheckStore();
    if (!store) return store.error().Prefixed(state ? state_path_ : line_.stream);
    store_ = state ? MomentOfJson(state->value("store", Json())) : std::move(*store);
    client_.HoldTo(store_);
    fixed_ = line_;
    FixTime(state ? StateText(*state, "from") : "", &fixed_.from);
    FixTime(state ? StateText(*state, "to") : "", &fixed_.to);
    if (state) return Resume(*state);
    if (line_.resume) {
      return Error(ErrorCode::kNotFound, "there is nothing to resume: no " + state_path_);
    }
    Result<ExportPlan> plan = PlanExport(fixed_, client_);
    if (!plan) return plan.error();
    plan_ = std::move(*plan);
    if (Status begun = BeginTable(); !begun) return begun;
    // One of an earlier export would tell of bytes that are cut off now.
    if (Status dropped = DropState(); !dropped) return dropped;
    return output_.Open(line_.output, 0);
  }

  // A time before now stays the one that it was: else what is forgotten meanwhile would be out of
  // the question by the end. One that is none is left to the daemon to refuse.
  static void FixTime(const std::string& kept, std::string* text) {
    if (!kept.empty()) *text = kept;
    if (text->empty()) return;
    if (const Result<TimeUs> time = ParseQueryTime(*text, SystemClock().Now())) {
      *text = QueryTimeText(*time);
    }
  }

  // What was whole before the first page may have gone before the last one was read, by max_age or
  // a reload, and that events fell on one cell may be known only since they were read.
  Status LookAgain() {
    if (!plan_.lack.empty()) return {};
    TransferLine line = fixed_;
    if (plan_.tables.size() == 1) line.table = plan_.tables[0];
    const Result<ExportPlan> now = PlanExport(line, client_);
    if (!now) return now.error();
    plan_.lack = now->lack;
    if (plan_.lack.empty() && !std::ranges::is_permutation(now->tables, plan_.tables)) {
      plan_.lack = fmt::format("by now all of it is in other tables than were read: {}",
                               fmt::join(now->tables, ", "));
    }
    const Result<StoreMoment> same = client_.CheckStore();
    return same ? Status() : same.error();
  }

  Status DropState() const { return state_path_.empty() ? Status() : RemoveState(state_path_); }

  Status Resume(const Json& state) {
    if (StateText(state, "stream") != line_.stream || StateText(state, "url") != line_.url ||
        StateText(state, "format") != format_ ||
        StateText(state, "parameters") != ExportParameters(line_)) {
      return Error(ErrorCode::kConflict, state_path_ + " is of another export: start anew");
    }
    for (const Json& table : state.value("tables", Json::array())) {
      if (table.is_string()) plan_.tables.push_back(table.get<std::string>());
    }
    plan_.lack = StateText(state, "lack");
    table_ = StateNumber(state, "table");
    next_ = StateText(state, "next");
    header_ = StateText(state, "header");
    spelled_ = StateText(state, "spelled");
    const uint64_t bytes = StateNumber(state, "bytes");
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(line_.output, failed);
    if (failed || size < bytes) {
      return Error(ErrorCode::kConflict, fmt::format("{} is shorter than {} says: start anew",
                                                     line_.output, state_path_));
    }
    return output_.Open(line_.output, bytes);
  }

  Status LearnSpelling() {
    Result<CsvSpelling> spelling = SpellingOf(line_.stream, plan_.tables.front(), client_);
    if (!spelling) return spelling.error();
    spelling_ = std::move(*spelling);
    std::string now = fmt::format("{} in {}", spelling_.time_field(), ToString(spelling_.unit()));
    if (!header_.empty() && spelled_ != now) {
      return Error(ErrorCode::kConflict,
                   fmt::format("the time of the stream is {} by now, and was another in {}: start "
                               "anew",
                               now, line_.output));
    }
    spelled_ = std::move(now);
    return {};
  }

  Status BeginTable() {
    const std::string& table = plan_.tables[table_];
    const Result<bool> by_key = ComesByKey(table, client_);
    if (!by_key) return by_key.error();
    events_path_ = fmt::format("/v1/streams/{}/events?{}&table={}", EncodePercent(line_.stream),
                               ExportParameters(fixed_), EncodePercent(table));
    next_ = fmt::format("{}&format={}&limit={}{}", events_path_, format_, kPageEvents,
                        *by_key ? "&order=key" : "");
    is_first_page_ = true;
    return {};
  }

  // The daemon reads the next page while this one is written. A page is of the store that is
  // exported if the daemon has that one behind it: it may have come back with another in between.
  void AskForNext() {
    asked_ = std::async(std::launch::async, [this, next = next_]() -> Result<HttpAnswer> {
      Result<HttpAnswer> page = client_.Ask({"GET", next, {}, {}});
      if (!page || page->status != kHttpOk) return page;
      if (Status whole = CheckPage(*page, format_); !whole) return whole.error();
      if (const auto same = client_.CheckStore(); !same) return same.error();
      return page;
    });
  }

  Status Page() {
    if (!asked_.valid()) AskForNext();
    Result<HttpAnswer> answer = asked_.get();
    if (!answer || answer->status != kHttpOk) {
      (void)Keep();  // What the file has whole. That there is no more of it is what is told.
      return answer ? Error(ErrorCode::kConflict, DetailOf(*answer)) : answer.error();
    }
    next_ = NextPath(*answer);
    if (std::exchange(is_first_page_, false) && next_.empty()) {
      if (Status led = CheckLinks(events_path_, client_); !led) return led;
    }
    if (next_.empty() && ++table_ < plan_.tables.size()) {
      if (Status begun = BeginTable(); !begun) return begun;
    }
    if (!next_.empty()) AskForNext();
    return WritePage(answer->body);
  }

  Status WritePage(std::string_view page) {
    std::string csv;
    if (format_ == "csv") {
      if (Status spelled = Spell(page, &csv); !spelled) return spelled;
      page = csv;
    }
    if (Status wrote = output_.Write(page); !wrote) return wrote;
    is_kept_ = false;
    const bool is_due = SteadyClock::now() - kept_ >= kKeepEvery;
    return is_due ? Keep() : Status();
  }

  Status Spell(std::string_view page, std::string* csv) {
    const std::string_view header = FirstRecord(page);
    if (header_.empty()) {
      Result<std::string> spelled = spelling_.Header(header);
      if (!spelled) return spelled.error();
      *csv = std::move(*spelled);
      header_ = header;
    } else if (header != header_) {
      return Error(ErrorCode::kConflict,
                   "the stream has got a new field meanwhile, so the columns are others: start "
                   "anew, or use NDJSON");
    }
    return spelling_.AppendLines(page.substr(header.size()), csv);
  }

  // Not behind the last page: a state that says "all is there" would answer another time without
  // a look at the daemon. Who is interrupted then asks for the last page again.
  Status Keep() {
    if (state_path_.empty() || is_kept_ || table_ >= plan_.tables.size()) return {};
    if (Status synced = output_.Sync(); !synced) return synced;
    is_kept_ = true;
    kept_ = SteadyClock::now();
    return WriteState(state_path_, {{"stream", line_.stream},
                                    {"url", line_.url},
                                    {"store", JsonOfMoment(store_)},
                                    {"format", format_},
                                    {"parameters", ExportParameters(line_)},
                                    {"from", fixed_.from},
                                    {"to", fixed_.to},
                                    {"tables", plan_.tables},
                                    {"lack", plan_.lack},
                                    {"table", table_},
                                    {"next", next_},
                                    {"header", header_},
                                    {"spelled", spelled_},
                                    {"bytes", output_.bytes()}});
  }

  const TransferLine& line_;
  TransferLine fixed_;  // The same, of times that stay what they were.
  PatientClient client_;
  const std::string format_;
  const std::string state_path_;  // Empty: standard output keeps none.
  StoreMoment store_;             // What is read, as it was at the beginning.
  ExportPlan plan_;
  size_t table_ = 0;            // Of the plan.
  std::string next_;            // The path of the next page.
  std::string events_path_;     // Of all pages of the table, without how they come.
  bool is_first_page_ = false;  // Nothing of the table came yet.
  std::string header_;          // Of CSV as it was answered, once it is written.
  CsvSpelling spelling_;
  std::string spelled_;  // How the time is, once that is known.
  Output output_;
  bool is_kept_ = true;  // The state tells of all that was written.
  SteadyClock::time_point kept_ = {};
  std::future<Result<HttpAnswer>> asked_;  // The page of next_, while it is on its way.
};

}  // namespace

int ExportCommand(const CommandLine& line, const ToolHost&) {
  const TransferLine& transfer = line.transfer;
  const Result<PatientClient> client = PatientClient::Make(transfer);
  if (!client) {
    Refused("export", client.error());
    return kMisused;
  }
  if (const Status sound = CheckLine(transfer); !sound) {
    Refused("export", sound.error());
    return kMisused;
  }
  ToolProgress progress;
  progress.step = "exporting";
  std::optional<ProgressLine> shown;
  if (!transfer.quiet) shown.emplace(progress);
  const Result<std::string> lack = Export(transfer, *client).Run(&progress);
  shown.reset();
  if (!lack) return Refused("export", lack.error());
  if (!lack->empty()) {
    std::fprintf(stderr, "tallyd export: something may be missing: %s\n", lack->c_str());
    return kFailed;
  }
  return 0;
}

}  // namespace tallyd
