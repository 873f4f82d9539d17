// tallyd load: files of events, sent to a daemon a batch at a time. FILE.loading beside a file
// tells how far it is, from before its first batch until after its last: whoever starts the same
// command again goes on there, with the same store. The batches of one load have keys of their own,
// so that what was sent twice, because its answer was lost, counts once, for as long as the daemon
// remembers the keys. Of several files those that are sent keep theirs until all are, so that the
// same command does not send them twice. That of the last one never says that all was sent: whoever
// was interrupted behind the last batch sends that again.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "ingest/text/json.h"
#include "ingest/text/percent.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/transfer/event_file.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/patient_client.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

constexpr BatchLimits kLimits{4u << 20, 10'000};
constexpr size_t kLeastBytes = 64u << 10;
constexpr size_t kShownRefusals = 100;
// A daemon forgets the key of a batch after a day.
constexpr int64_t kKeyLifeUs = 23 * 3600 * kUsPerSecond;

struct LoadCounts {
  uint64_t events = 0;
  uint64_t refused = 0;
  uint64_t expired = 0;
};

struct RefusedEvent {
  size_t index = 0;  // In its batch.
  std::string why;
};

std::vector<RefusedEvent> RefusedIn(const Json& said) {
  std::vector<RefusedEvent> refused;
  if (!said.is_object() || !said.contains("errors") || !said["errors"].is_array()) return refused;
  for (const Json& error : said["errors"]) {
    if (!error.is_object()) continue;
    const std::string field = StateText(error, "field");
    refused.push_back({StateNumber(error, "index"),
                       (field.empty() ? "" : field + ": ") + StateText(error, "detail")});
  }
  return refused;
}

std::string NewLoadId() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

BodyKind KindOf(const std::string& path, const std::string& format) {
  const bool named = format.empty() && std::filesystem::path(path).extension() == ".csv";
  return format == "csv" || named ? BodyKind::kCsv : BodyKind::kNdjson;
}

std::string ParametersOf(const TransferLine& line) {
  std::string parameters = line.partial ? "?partial=1" : "";
  if (!line.guarded) parameters += parameters.empty() ? "?guards=off" : "&guards=off";
  return parameters;
}

// One file on its way.
class FileLoad {
 public:
  // Files of one command go into one store: the client is held to that of the first.
  FileLoad(const TransferLine& line, PatientClient& client, const std::string& path)
      : line_(line),
        is_last_(path == line.files.back()),
        client_(client),
        path_(path),
        state_path_(path == "-" ? "" : path + ".loading"),
        kind_(KindOf(path, line.format)) {}

  // Its mark stays.
  Status Run(LoadCounts* counts, ToolProgress* progress) {
    Result<EventFile> file = EventFile::Open(path_, kind_);
    if (!file) return file.error();
    before_ = *counts;
    if (Status ready = Prepare(&*file, counts); !ready) return ready;
    progress->total = file->size();
    const Status sent = SendAll(&*file, counts, progress);
    if (sent || may_have_stored_) return sent;
    // A mark that stays would refuse the load to where it should have gone.
    const Status dropped = DropState();
    if (dropped) return sent;
    return Error(sent.error().code(), sent.error().message() + "; " + dropped.error().message());
  }

  // Once all files of the command are sent.
  Status DropState() const { return state_path_.empty() ? Status() : RemoveState(state_path_); }

 private:
  Status SendAll(EventFile* file, LoadCounts* counts, ToolProgress* progress) {
    if (Status known = LearnStore(); !known) return known;
    FileBatch batch;
    while (true) {
      const Result<bool> more = file->Next(limits_, &batch);
      if (!more) return more.error();
      if (resumed_until_ > 0 && batch.to.offset != resumed_until_) return IsAnother(batch);
      if (!*more) break;
      // What is sent again keeps the time of its first sending: so long its key is remembered.
      if (std::exchange(resumed_until_, 0) == 0) {
        if (Status kept = Keep(file, batch, *counts); !kept) return kept;
      }
      const EventPlace from = batch.from;
      const EventPlace to = batch.to;
      const Result<bool> sent = Send(std::move(batch), counts);
      if (!sent) return sent.error();
      if (!*sent) {
        if (Status back = file->Seek(from); !back) return back;
        continue;
      }
      // The daemon may have come back with another store, which took the batch.
      if (Status same = FollowStore(); !same) return same;
      progress->done = to.offset;
    }
    if (is_last_) return {};
    is_sent_ = true;
    return Keep(file, {{}, {}, {}, batch.to, {}}, *counts);
  }

  Error IsAnother(const FileBatch& batch) const {
    return Error(
        ErrorCode::kConflict,
        fmt::format("{} has changed since the load was interrupted: the batch from line {} "
                    "on, which may be stored, has another end. Put the file back as it "
                    "was, or look what is stored of it, remove {}, and load the rest",
                    path_, batch.from.line + 1, state_path_));
  }

  // A load goes on with the store that it began with alone: another one under the same address has
  // nothing of what was sent, and one that was put back from an older copy not all of it.
  Status LearnStore() {
    if (Status same = FollowStore(); !same) return same;
    if (!resumed_store_) return {};
    client_.HoldTo(*resumed_store_);
    const Status same = FollowStore();
    if (same || same.error().code() != ErrorCode::kConflict) return same;
    return Error(ErrorCode::kConflict,
                 fmt::format("{}; {} is of a load that began there: remove it to start anew",
                             same.error().message(), state_path_));
  }

  // What the store has now it is to have from now on.
  Status FollowStore() {
    Result<StoreMoment> now = client_.CheckStore();
    if (!now) return now.error();
    // One that is opening its files does not tell of them.
    if (!now->opening.empty() || store_.opening.empty()) store_ = std::move(*now);
    client_.HoldTo(store_);
    return {};
  }

  // Goes to where an earlier load was interrupted, or marks the beginning of this one.
  Status Prepare(EventFile* file, LoadCounts* counts) {
    id_ = NewLoadId();
    if (state_path_.empty()) return {};
    const Result<std::optional<Json>> state = ReadState(state_path_);
    if (!state) return state.error();
    // What reached nobody stored nothing, wherever it was to go.
    if (!*state || (**state).value("reached", Json(true)) == false) {
      return Keep(file, {}, *counts);
    }
    may_have_stored_ = reached_ = true;
    const EventPlace place{StateNumber(**state, "offset"), StateNumber(**state, "line")};
    const Result<std::string> head = file->DigestBefore(place.offset);
    if (!head) return head.error();
    const bool is_same = StateText(**state, "stream") == line_.stream &&
                         StateText(**state, "url") == line_.url &&
                         StateText(**state, "head") == *head && place.offset <= file->size();
    if (!is_same) {
      return Error(
          ErrorCode::kConflict,
          fmt::format("{} is of another load (of stream {} to {}, or of other content): "
                      "finish that one, or remove it to start anew",
                      state_path_, StateText(**state, "stream"), StateText(**state, "url")));
    }
    if (Status young = CheckAge(**state); !young) return young;
    kept_ = **state;
    id_ = StateText(**state, "id");
    resumed_store_ = MomentOfJson((**state).value("store", Json()));
    resumed_until_ = StateNumber(**state, "until");
    counts->refused += StateNumber(**state, "refused");
    counts->expired += StateNumber(**state, "expired");
    if (!line_.quiet) {
      const bool was_sent = (**state).value("sent", Json(false)) == true;
      std::fprintf(stderr, "%s: %s line %s\n", path_.c_str(),
                   was_sent ? "was sent before, up to" : "goes on at",
                   fmt::to_string(place.line + (was_sent ? 0 : 1)).c_str());
    }
    // Batches are to be the ones that may have been sent already.
    if (const uint64_t bytes = StateNumber(**state, "batch_bytes"); bytes > 0) {
      limits_.bytes = static_cast<size_t>(bytes);
    }
    return file->Seek(place);
  }

  Status CheckAge(const Json& state) const {
    const auto age = SystemClock().Now() - static_cast<TimeUs>(StateNumber(state, "written"));
    if (age <= kKeyLifeUs || StateNumber(state, "until") == 0) return {};
    return Error(ErrorCode::kConflict,
                 fmt::format("{} is a day old: the daemon has forgotten whether it took the batch "
                             "from line {} on, which would count twice where something adds up. "
                             "Where nothing does, remove it and start anew; else look what is "
                             "stored, remove it, and load the rest",
                             state_path_, StateNumber(state, "line") + 1));
  }

  // Before the batch is sent: what is before it is stored, and it may be.
  Status Keep(EventFile* file, const FileBatch& batch, const LoadCounts& counts) {
    if (state_path_.empty()) return {};
    const Result<std::string> head = file->DigestBefore(batch.from.offset);
    if (!head) return head.error();
    kept_ = {{"stream", line_.stream},
             {"url", line_.url},
             {"store", JsonOfMoment(store_)},
             {"id", id_},
             {"reached", reached_},
             {"offset", batch.from.offset},
             {"line", batch.from.line},
             {"until", batch.to.offset},
             {"sent", is_sent_},
             {"head", *head},
             {"refused", counts.refused - before_.refused},
             {"expired", counts.expired - before_.expired},
             {"written", static_cast<uint64_t>(SystemClock().Now())},
             {"batch_bytes", limits_.bytes}};
    return WriteState(state_path_, kept_);
  }

  // Before the first byte goes out: from then on a batch may be stored.
  Status NoteReached() {
    if (std::exchange(reached_, true) || state_path_.empty()) return {};
    kept_["reached"] = true;
    return WriteState(state_path_, kept_);
  }

  // Nothing of the batch is stored, so that it may be another one when the load goes on.
  Status NoteRefused() {
    if (state_path_.empty()) return {};
    kept_["until"] = 0u;
    return WriteState(state_path_, kept_);
  }

  Result<HttpAnswer> Post(const FileBatch& batch, size_t removed) {
    std::string key = fmt::format("load-{}-{}-{}", id_, batch.from.offset, batch.body.size());
    if (removed > 0) key += fmt::format("-{}", removed);
    const char* const type = kind_ == BodyKind::kCsv ? "text/csv" : "application/x-ndjson";
    return client_.Ask(
        {"POST",
         "/v1/streams/" + EncodePercent(line_.stream) + "/events" + ParametersOf(line_),
         {{"Content-Type", type}, {"Idempotency-Key", key}},
         batch.body,
         [this] { return NoteReached(); }});
  }

  // False: it was too large, and is to be read again, smaller.
  Result<bool> Send(FileBatch&& batch, LoadCounts* counts) {
    for (size_t removed = 0; !batch.lines.empty(); ++removed) {
      const Result<HttpAnswer> answer = Post(batch, removed);
      // Whoever took the connection and gave no answer may have stored it all the same.
      may_have_stored_ |= answer ? answer->status == kHttpOk : reached_;
      if (!answer) return answer.error();
      if (answer->status == kHttpTooLarge && batch.lines.size() > 1 &&
          limits_.bytes > kLeastBytes && path_ != "-" && removed == 0) {
        limits_.bytes = std::max(kLeastBytes, std::min(limits_.bytes, batch.body.size()) / 2);
        return false;
      }
      if (answer->status == kHttpOk) {
        if (Status told = CheckCounts(*answer, batch.lines.size()); !told) {
          return told.error().Prefixed(
              fmt::format("{}: lines {} to {}", path_, batch.lines.front(), batch.lines.back()));
        }
      }
      const Json said = Json::parse(answer->body, nullptr, false);
      const std::vector<RefusedEvent> refused = RefusedIn(said);
      Report(refused, batch);
      if (answer->status == kHttpOk) {
        counts->events += StateNumber(said, "events");
        counts->expired += StateNumber(said, "expired");
        counts->refused += StateNumber(said, "error_count");
        return true;
      }
      // A line that is no JSON refuses a whole body, also with --partial: it goes without that one.
      const bool can_go_on = line_.partial && answer->status == kHttpBadRequest &&
                             refused.size() == 1 && refused[0].index < batch.lines.size();
      if (!can_go_on) {
        if (Status noted = NoteRefused(); !noted) return noted.error();
        return Refusal(*answer, refused, batch);
      }
      RemoveEvent(refused[0].index, &batch);
      ++counts->refused;
    }
    return true;
  }

  Error Refusal(const HttpAnswer& answer, const std::vector<RefusedEvent>& refused,
                const FileBatch& batch) const {
    std::string text = fmt::format("{}: lines {} to {}: the daemon answers {}", path_,
                                   batch.lines.front(), batch.lines.back(), DetailOf(answer));
    if (!refused.empty()) {
      text += "; what came before is stored: mend the file and start again, or use --partial";
    }
    return Error(ErrorCode::kInvalid, std::move(text));
  }

  void Report(const std::vector<RefusedEvent>& refused, const FileBatch& batch) {
    for (const RefusedEvent& event : refused) {
      if (event.index >= batch.lines.size()) continue;
      if (reported_++ == kShownRefusals) std::fputs("more were refused, not shown\n", stderr);
      if (reported_ > kShownRefusals) return;
      std::fprintf(stderr, "%s:%s: %s\n", path_.c_str(),
                   fmt::to_string(batch.lines[event.index]).c_str(), event.why.c_str());
    }
  }

  const TransferLine& line_;
  const bool is_last_;  // Of the files.
  PatientClient& client_;
  const std::string path_;
  const std::string state_path_;  // Empty: of standard input nothing is kept.
  const BodyKind kind_;
  BatchLimits limits_ = kLimits;
  std::string id_;
  StoreMoment store_;                         // That which is loaded into, behind the last batch.
  std::optional<StoreMoment> resumed_store_;  // That of the load that is gone on with.
  uint64_t resumed_until_ = 0;                // Where its batch under way ended.
  LoadCounts before_;                         // Of other files.
  Json kept_;                                 // As the state is on the disk.
  bool is_sent_ = false;                      // All of it.
  bool reached_ = false;                      // Somebody took a connection.
  bool may_have_stored_ = false;              // By this load, or the one that it continues.
  size_t reported_ = 0;
};

// What a table found too old is missing where none is sure to have it; empty: nothing is.
std::string LackOfExpired(const TransferLine& line, const PatientClient& client) {
  TransferLine whole;
  whole.stream = line.stream;
  const Result<ExportPlan> plan = PlanExport(whole, client);
  return plan ? plan->lack : plan.error().message();
}

}  // namespace

int LoadCommand(const CommandLine& line, const ToolHost&) {
  const TransferLine& transfer = line.transfer;
  Result<PatientClient> client = PatientClient::Make(transfer);
  if (!client) {
    Refused("load", client.error());
    return kMisused;
  }
  LoadCounts counts;
  std::vector<FileLoad> loads;
  for (const std::string& path : transfer.files) loads.emplace_back(transfer, *client, path);
  for (FileLoad& load : loads) {
    ToolProgress progress;
    progress.step = "loading";
    std::optional<ProgressLine> shown;
    if (!transfer.quiet) shown.emplace(progress);
    const Status loaded = load.Run(&counts, &progress);
    shown.reset();
    if (!loaded) return Refused("load", loaded.error());
  }
  for (const FileLoad& load : loads) {
    if (Status dropped = load.DropState(); !dropped) return Refused("load", dropped.error());
  }
  if (!transfer.quiet) {
    std::fprintf(stderr, "loaded %s events, %s refused, %s expired\n",
                 fmt::to_string(counts.events).c_str(), fmt::to_string(counts.refused).c_str(),
                 fmt::to_string(counts.expired).c_str());
  }
  const std::string lack = counts.expired > 0 ? LackOfExpired(transfer, *client) : std::string();
  if (!lack.empty()) {
    std::fprintf(stderr,
                 "tallyd load: %s events were too old for a table, and may be missing: %s\n",
                 fmt::to_string(counts.expired).c_str(), lack.c_str());
  }
  return counts.refused > 0 || !lack.empty() ? kFailed : 0;
}

}  // namespace tallyd
