#include "tests/api/api_world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "config/file/config.h"
#include "ingest/blob/blob.h"
#include "storage/leveldb_store.h"
#include "tests/api/full_disk.h"

namespace tallyd {
namespace {

std::atomic<bool> disks_are_full = false;

}  // namespace

void SetDisksFull(bool full) { disks_are_full = full; }

ApiWorld::ApiWorld(const std::string& tables) : ApiWorld(tables, MakeStore()) {}

ApiWorld::ApiWorld(const std::string& tables, MakeStore make_store)
    : make_store_(std::move(make_store)) {
  std::string pattern = std::filesystem::temp_directory_path() / "tallyd-api-XXXXXX";
  path_ = mkdtemp(pattern.data());
  Open();
  EXPECT_TRUE(Reload(tables));
}

ApiWorld::~ApiWorld() {
  Close();
  std::filesystem::remove_all(path_);
}

void ApiWorld::Open() {
  registry_ = std::make_unique<prometheus::Registry>();
  metrics_ = std::make_unique<ApiMetrics>(*registry_);
  LevelDbStoreOptions options;
  options.storage.path = path_ + "/data";
  options.storage.ballast = 0;
  options.clock = &clock_;
  options.registry = registry_.get();
  options.fields_of = &HashBlobNames;
  options.measure = [](const std::string&) {
    return VolumeSpace{1u << 30, disks_are_full ? 0 : 1u << 30};
  };
  store_ = make_store_ ? make_store_(clock_) : std::move(*OpenLevelDbStore(options));
  JobOptions jobs;
  jobs.refresh = [this] { return refresh ? refresh() : Status(); };
  jobs.before_commit = [this] {
    if (before_restore) before_restore();
  };
  context_ = std::make_unique<ApiContext>(*store_, clock_, *metrics_, *registry_, server_, 2,
                                          std::move(jobs));
  EXPECT_TRUE(context_->jobs.nightly.Open());
  EXPECT_TRUE(context_->jobs.Open());
}

void ApiWorld::Close() {
  context_.reset();
  store_->Close();
  store_.reset();
}

bool ApiWorld::Reload(const std::string& tables) {
  constexpr const char* kAnyTime = "\n[ingest]\nmin_time = \"1970-01-01\"\nmax_future = \"off\"\n";
  const bool has_guards = tables.find("[ingest]") != std::string::npos;
  Result<Config> config = ParseConfig(tables + (has_guards ? "" : kAnyTime), "test.toml");
  EXPECT_TRUE(config) << config.error().message();
  if (!store_->Adopt(*config->schema)) return false;
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = config->schema;
  snapshot->scope_fields = ScopeFieldsOf(config->tokens);
  for (const Stream& stream : config->schema->streams) {
    snapshot->mappers.emplace(stream.name,
                              std::make_unique<Mapper>(config->schema, stream, *store_));
  }
  snapshot->series = context_->writer.series().IndexesOf(*config->schema);
  context_->live_schema.Set(snapshot);
  context_->writer.series().InForce(std::chrono::seconds(5));
  return true;
}

bool ApiWorld::Restart(const std::string& tables) {
  Close();
  Open();
  return Reload(tables);
}

Response ApiWorld::Post(const std::string& stream, const std::string& json,
                        const std::string& query) {
  Request request;
  request.principal = principal_;
  request.method = Method::kPost;
  request.arguments = {stream};
  request.params = *Params::Parse(query);
  const Result<IngestHead> head = ReadIngestHead(request, *context_);
  if (!head) return ProblemOf(head.error());
  std::string padded = json;
  padded.reserve(json.size() + kBodyPadding);
  IngestWorkspace workspace;
  PreparedBatch prepared = PrepareIngest(*head, padded, *context_, workspace);
  if (prepared.response) return std::move(*prepared.response);
  const Status committed = WaitForCommit(
      [&](CommitDone done) { context_->writer.Submit(&prepared.write, std::move(done)); });
  return AnswerIngest(*head, prepared, committed, *context_);
}

Response ApiWorld::Call(Handler handler, std::vector<std::string> arguments,
                        const std::string& query, const std::string& accept) {
  Request request;
  request.principal = principal_;
  request.path = "/path";
  request.query = query;
  request.arguments = std::move(arguments);
  request.params = *Params::Parse(query);
  request.accept = accept;
  if (memory_) request.memory = std::make_shared<ReadMemory>(*memory_);
  Response response = handler(request, *context_);
  PullFirstChunk(&response);
  while (response.source) {
    std::string chunk;
    const Result<Pulled> pulled = response.source->Pull(&chunk, Wake());
    EXPECT_TRUE(pulled);
    response.body += chunk;
    if (memory_) response.source->Release();  // As with a slow reader.
    if (!pulled || *pulled == Pulled::kEnd) response.source.reset();
  }
  return response;
}

std::string BodyOf(Response response) {
  while (response.body.ends_with('\n')) response.body.pop_back();
  return response.body;
}

}  // namespace tallyd
