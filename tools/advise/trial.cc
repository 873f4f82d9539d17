#include "tools/advise/trial.h"

#include <fmt/format.h>
#include <prometheus/registry.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "api/handlers.h"
#include "api/routes/ingest.h"
#include "config/file/config.h"
#include "ingest/blob/blob.h"
#include "ingest/text/percent.h"
#include "storage/leveldb_store.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kEntities = 3;
constexpr size_t kRepeats = 5;
constexpr size_t kLeastRepeats = 3;  // Of what takes long, these are enough.
constexpr double kLongMeasuredMs = 1000;
constexpr size_t kHelpers = 1;
constexpr unsigned kOk = 200;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

uint64_t BytesBelow(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::recursive_directory_iterator(path, gone)) {
    if (entry.is_regular_file(gone)) bytes += entry.file_size(gone);
  }
  return bytes;
}

double MedianOf(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The store, and around it what handlers need.
class Trial {
 public:
  Trial(const AdviseSubject& subject, const Proposal& proposal)
      : subject_(subject), proposal_(proposal), metrics_(registry_) {}
  ~Trial() {
    if (store_) store_->Close();
  }

  Status Open(const std::string& path) {
    path_ = path;
    const Result<Config> config =
        ParseConfig(StreamSection(subject_) + proposal_.toml, "the proposal");
    if (!config) return config.error();
    LevelDbStoreOptions options;
    options.storage.path = path;
    options.storage.ballast = 0;
    options.storage.free_space_floor = 0;
    options.clock = &clock_;
    options.registry = &registry_;
    options.fields_of = &HashBlobNames;
    Result<std::unique_ptr<Store>> store = OpenLevelDbStore(options);
    if (!store) return store.error();
    store_ = std::move(*store);
    if (Status adopted = store_->Adopt(*config->schema); !adopted) return adopted;
    context_ =
        std::make_unique<ApiContext>(*store_, clock_, metrics_, registry_, server_, kHelpers,
                                     JobOptions{});
    auto snapshot = std::make_shared<SchemaSnapshot>();
    snapshot->schema = config->schema;
    for (const Stream& stream : config->schema->streams) {
      snapshot->mappers.emplace(stream.name,
                                std::make_unique<Mapper>(config->schema, stream, *store_));
    }
    context_->live_schema.Set(std::move(snapshot));
    return store_->Settle();
  }

  Result<TrialResult> Run(const Sample& sample, ToolProgress* progress) {
    TrialResult result;
    result.pattern = proposal_.pattern;
    const uint64_t before = BytesBelow(path_);
    const auto start = SteadyClock::now();
    for (const Sample::Batch& batch : sample.batches) {
      if (progress->stop) return Stopped();
      if (Status written = Write(sample.file, batch); !written) return written.error();
      progress->done += batch.body.size();
    }
    const auto events = static_cast<double>(sample.events);
    result.events_per_s = events / SecondsSince(start);
    if (Status settled = store_->Settle(); !settled) return settled.error();
    const uint64_t after = BytesBelow(path_);
    result.bytes_per_event = static_cast<double>(after - std::min(before, after)) / events;
    if (Status asked = Ask(sample, progress, &result); !asked) return asked.error();
    return result;
  }

 private:
  static Error Stopped() { return Error(ErrorCode::kCancelled, "interrupted"); }

  Status Write(const std::string& file, const Sample::Batch& batch) {
    Request request;
    request.principal = TheDaemon();
    request.method = Method::kPost;
    request.arguments = {subject_.stream};
    request.content_type = "application/x-ndjson";
    request.params = *Params::Parse("guards=off");
    const Result<IngestHead> head = ReadIngestHead(request, *context_);
    if (!head) return head.error();
    PreparedBatch prepared = PrepareIngest(*head, batch.body, *context_, workspace_);
    if (const auto& errors = prepared.write.outcome.errors.kept(); !errors.empty()) {
      const EventError& first = errors.front();
      return Invalid(fmt::format("{}:{}: {}{}{}", file, batch.lines[first.index], first.field,
                                 first.field.empty() ? "" : ": ", first.detail));
    }
    if (prepared.response) {
      return prepared.response->status == kOk ? Status() : Invalid(prepared.response->problem);
    }
    return context_->writer.Commit(&prepared.write);
  }

  Status Ask(const Sample& sample, ToolProgress* progress, TrialResult* result) {
    const Handler handler = proposal_.is_latest ? GetLatest : GetEvents;
    std::vector<std::string> queries;
    const size_t stride = std::max<size_t>(1, sample.entities.size() / kEntities);
    size_t place = 0;
    for (const auto& [entity, count] : sample.entities) {
      if (place++ % stride == 0) queries.push_back(EntityQuery(entity));
    }
    const Result<double> range = Measure(handler, queries, progress);
    if (!range) return range.error();
    Result<double> latest = Measure(handler, {LatestQuery()}, progress);
    // Of events without a number there is nothing to aggregate.
    if (!latest && latest.error().code() == ErrorCode::kInvalid && !proposal_.is_latest) {
      latest = Measure(handler, {"limit=1000000&scan=1&table=" + proposal_.table}, progress);
    }
    if (!latest) return latest.error();
    result->entity_range_ms = *range;
    result->latest_ms = *latest;
    return {};
  }

  std::string EntityQuery(const Sample::Entity& entity) const {
    std::string query = proposal_.is_latest ? "limit=10" : "limit=1000000&table=" + proposal_.table;
    for (size_t i = 0; i < entity.size(); ++i) {
      query += "&field." + EncodePercent(subject_.entity[i]) + "=" + EncodePercent(entity[i]);
    }
    return query;
  }

  // A table of history tells the newest values, of numbers alone, as the last of one step that has
  // all time in it.
  std::string LatestQuery() const {
    if (proposal_.is_latest) return "limit=1000000";
    std::string query = "limit=1000000&scan=1&agg=last&step=100000d&table=" + proposal_.table;
    for (const std::string& field : subject_.entity) query += "&by=" + EncodePercent(field);
    return query;
  }

  // Milliseconds: the median of several rounds, after one that counts not.
  Result<double> Measure(Handler handler, const std::vector<std::string>& queries,
                         ToolProgress* progress) {
    std::vector<double> took;
    double all_ms = 0;
    for (size_t round = 0; round <= kRepeats; ++round) {
      if (round > kLeastRepeats && all_ms > kLongMeasuredMs) break;
      for (const std::string& query : queries) {
        if (progress->stop) return Stopped();
        const auto start = SteadyClock::now();
        if (Status answered = Answer(handler, query); !answered) return answered.error();
        if (round == 0) continue;
        took.push_back(SecondsSince(start) * 1e3);
        all_ms += took.back();
      }
    }
    return MedianOf(std::move(took));
  }

  Status Answer(Handler handler, const std::string& query) {
    Request request;
    request.principal = TheDaemon();
    request.path = "/";
    request.query = query;
    request.arguments = {subject_.stream};
    Result<Params> params = Params::Parse(query);
    if (!params) return params.error();
    request.params = std::move(*params);
    Response response = handler(request, *context_);
    PullFirstChunk(&response);
    while (response.source) {
      response.body.clear();
      const Result<Pulled> pulled = response.source->Pull(&response.body, Wake());
      if (!pulled) return pulled.error();
      if (*pulled == Pulled::kEnd) response.source.reset();
    }
    if (response.status == kOk) return {};
    return Invalid(fmt::format("{} of {}: {}", query, proposal_.pattern, response.problem));
  }

  const AdviseSubject& subject_;
  const Proposal& proposal_;
  std::string path_;
  SystemClock clock_;
  prometheus::Registry registry_;
  ApiMetrics metrics_;
  ServerConfig server_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ApiContext> context_;
  IngestWorkspace workspace_;
};

}  // namespace

Result<std::string> ScratchDirectory::Make() {
  std::error_code failed;
  std::string path = fs::temp_directory_path(failed) / "tallyd-advise-XXXXXX";
  if (failed || ::mkdtemp(path.data()) == nullptr) {
    return Error(ErrorCode::kIo, "there is no room for scratch: " + path + " cannot be made");
  }
  return path;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<TrialResult> RunTrial(const AdviseSubject& subject, const Sample& sample,
                             const Proposal& proposal, const std::string& scratch,
                             ToolProgress* progress) {
  const ScratchDirectory directory(scratch + "/" + proposal.pattern);
  Trial trial(subject, proposal);
  if (Status opened = trial.Open(directory.path()); !opened) return opened.error();
  return trial.Run(sample, progress);
}

}  // namespace tallyd
