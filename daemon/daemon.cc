#include "daemon/daemon.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>

#include "api/routes/router.h"
#include "api/telnet/telnet_session.h"
#include "config/file/exposure.h"
#include "config/lint/finer_times.h"
#include "config/lint/lint.h"
#include "config/lint/schema_doubts.h"
#include "daemon/cores.h"
#include "daemon/directory_probe.h"
#include "daemon/logging.h"
#include "daemon/reload_check.h"
#include "daemon/start_check.h"
#include "daemon/version.h"
#include "ingest/blob/blob.h"
#include "service/lint/live_facts.h"
#include "service/nightly/nightly_schema.h"
#include "storage/engines.h"

namespace tallyd {

namespace {

// How long a start or a reload waits for the series of its tables to be counted. Until they are,
// events of series that may be new are refused where their stream bounds them.
constexpr std::chrono::seconds kCountSeries(5);

// How long a store that is elsewhere has for its first answer before the daemon listens without it,
// and how often it is asked again.
constexpr std::chrono::milliseconds kStoreAnswersIn(2000);
constexpr std::chrono::milliseconds kToolWaitsForStore(30'000);
constexpr std::chrono::milliseconds kBetweenStarts(1000);
// How long it has, behind the last request of an end, for what it still notes there.
constexpr std::chrono::seconds kLastWords(2);

sigset_t DaemonSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

int WaitForSignal() {
  const sigset_t signals = DaemonSignals();
  return sigwaitinfo(&signals, nullptr);
}

// One query may use as many threads as all together have.
size_t HelperThreads(const ServerConfig& server) {
  constexpr size_t kMaxThreadsOfQuery = 8;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t threads = server.query_threads > 0 ? server.query_threads : cores;
  return std::min({threads, cores, kMaxThreadsOfQuery}) - 1;
}

// Empty: the file asks for no such listener.
std::string TelnetOf(const Config& config) {
  const std::optional<OpenTsdbConfig>& opentsdb = config.schema->protocols.opentsdb;
  return opentsdb ? opentsdb->telnet : std::string();
}

// A reload is refused because of the file, never of the request that asked for it.
Error RefusedReload(const Error& error) {
  const bool of_the_file =
      error.code() == ErrorCode::kInvalid || error.code() == ErrorCode::kNotFound;
  return of_the_file ? Error(ErrorCode::kConflict, error.message()) : error;
}

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

void TellDoubts(const Config& config, ApiMetrics* metrics) {
  const Schema& schema = *config.schema;
  for (const std::string& doubt : FindDoubts(schema)) spdlog::warn("{}", doubt);
  if (!config.storage.has_directory()) {
    for (const std::string& finer : FindFinerTimes(schema)) spdlog::warn("{}", finer);
  }
  for (const Table& table : schema.tables) {
    if (table.families.size() <= kRecommendedFamilies) continue;
    spdlog::warn("table {} has {} families, and should not have more than {}", table.name,
                 table.families.size(), kRecommendedFamilies);
    metrics->many_families.Increment();
  }
}

template <class T>
std::vector<std::string> GoneOf(const std::vector<T>& before, const std::vector<T>& after) {
  std::vector<std::string> gone;
  for (const T& one : before) {
    if (std::ranges::count(after, one.name, &T::name) == 0) gone.push_back(one.name);
  }
  return gone;
}

Reloaded TakenAway(const Schema& before, const Schema& after) {
  return {GoneOf(before.streams, after.streams), GoneOf(before.tables, after.tables), {}};
}

void LogLines(spdlog::level::level_enum level, std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    spdlog::log(level, "{}", text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

constexpr std::string_view kRuleOfInputs = "L33";

// What the types that fields have had tell of inputs takes the place of what the file alone does:
// events will be refused for it, so it comes first.
void TellInputs(const Schema& schema, const Store& store, std::vector<LintFinding>* findings) {
  std::erase_if(*findings, [](const LintFinding& each) { return each.rule == kRuleOfInputs; });
  const LiveFacts types = ReadFieldTypes(schema, store);
  const std::vector<LintFinding> inputs = LintInputs(schema, &types);
  findings->insert(findings->begin(), inputs.begin(), inputs.end());
}

std::string TextOf(const LintFinding& finding) {
  return fmt::format("lint {}{}{}: {}", finding.rule, finding.table.empty() ? "" : " of table ",
                     finding.table, finding.detail);
}

// The first of them; /v1/status and `tallyd lint` have more.
void LogFindings(const std::vector<LintFinding>& findings) {
  constexpr size_t kMostLogged = 20;
  for (const LintFinding& finding : findings | std::views::take(kMostLogged)) {
    const bool is_hint = finding.severity == Severity::kInfo;
    spdlog::log(is_hint ? spdlog::level::info : spdlog::level::warn, "{}", TextOf(finding));
  }
  if (findings.size() > kMostLogged) {
    spdlog::warn("lint finds {} more: see tallyd lint", findings.size() - kMostLogged);
  }
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = DaemonSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Daemon::Daemon(Config config, Duties duties, HandedIn sockets)
    : config_(std::move(config)),
      duties_(duties),
      sockets_(std::move(sockets)),
      service_manager_(duties == Duties::kAll),
      metrics_(std::make_unique<ApiMetrics>(registry_)),
      reload_successful_(MakeGauge(registry_, "tallyd_config_last_reload_successful",
                                   "1 when the last reload (or the start) took the configuration, "
                                   "0 when it was refused.")),
      reload_time_(MakeGauge(registry_, "tallyd_config_last_reload_success_timestamp_seconds",
                             "When a configuration was taken last, in seconds of the epoch.")) {
  const std::vector<std::string> names = RouteNames();
  metrics_->AddRoutes({names.begin(), names.end()});
  CountDroppedLines(&prometheus::BuildCounter()
                         .Name("tallyd_log_dropped_total")
                         .Help("Lines of the log that nobody took from standard error in time.")
                         .Register(registry_)
                         .Add({}));
  prometheus::BuildGauge()
      .Name("tallyd_build_info")
      .Help("Always 1; its label tells the version.")
      .Register(registry_)
      .Add({{"version", std::string(kVersion)}})
      .Set(1);
}

Daemon::~Daemon() {
  Stop();
  CountDroppedLines(nullptr);
}

std::shared_ptr<const SchemaSnapshot> Daemon::Compile(std::shared_ptr<const Schema> schema,
                                                      ScopeFields scope_fields) {
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = schema;
  snapshot->scope_fields = std::move(scope_fields);
  snapshot->findings = Lint(*schema, snapshot->scope_fields);
  TellInputs(*schema, *store_, &snapshot->findings);
  LogFindings(snapshot->findings);
  for (const Stream& stream : schema->streams) {
    metrics_->streams.Know(stream.name);
    snapshot->mappers.emplace(stream.name, std::make_unique<Mapper>(schema, stream, *store_));
  }
  snapshot->series = context_->writer.series().IndexesOf(*schema);
  return snapshot;
}

Status Daemon::Prepare() {
  Result<TlsContextPtr> tls = LoadTls(config_, nullptr, clock_.Now());
  if (!tls) return tls.error();
  tls_ = std::move(*tls);
  if (tls_) KeepSecretsOutOfCores();  // Its key is one.
  if (!sockets_.telnet.empty() && TelnetOf(config_).empty()) {
    return Invalid(
        "the socket \"telnet\" that systemd hands in is not served: accepted: with telnet = "
        "ADDRESS in [protocols.opentsdb], in whose place it is taken");
  }
  if (!sockets_.http.empty()) return {};  // What these are bound to is judged once they are taken.
  return CheckListening(config_, config_.server.listen);
}

Status Daemon::StartServer() {
  server_ = std::make_unique<HttpServer>(*context_);
  server_->UseTls(tls_);
  if (tls_) metrics_->tls.Describe(*tls_);
  if (Status listening = server_->Listen(sockets_.http); !listening) return listening;
  if (Status listening = ListenForTelnet(); !listening) return listening;
  return CheckListening(config_, server_->addresses());
}

Status Daemon::ListenForTelnet() {
  const std::string at = TelnetOf(config_);
  if (at.empty() || duties_ != Duties::kAll) return {};
  const OtherProtocol telnet{&MakeTelnetSession, "put: there are too many connections\n"};
  if (Status bound = server_->ListenFor(telnet, at, sockets_.telnet); !bound) return bound;
  for (const ListenAddress& address : server_->other_addresses()) {
    if (IsListenAddress(address.at) && IsLoopbackAddress(address.at)) continue;
    return Invalid("the socket \"telnet\" that systemd hands in listens on " + address.at +
                   ", and its lines pass in clear; accepted: an address of loopback");
  }
  return {};
}

Status Daemon::Open() {
  EngineParts parts;
  parts.storage = config_.storage;
  parts.clock = &clock_;
  parts.registry = &registry_;
  parts.progress = &commit_progress_;
  parts.fields_of = &HashBlobNames;
  // No schema with such a table is adopted before there is a context.
  parts.may_drop = [this](const TableInfo& table) {
    return context_ == nullptr || context_->counters.MayDrop(table.id);
  };
  Result<std::unique_ptr<Store>> store = OpenStore(parts);
  if (!store) return store.error();
  store_ = std::move(*store);
  return {};
}

Status Daemon::PutInForce(const Config& configured) {
  Result<std::shared_ptr<const Schema>> schema = WithNightly(configured.schema, *store_);
  if (!schema) return schema.error();
  if (Status held = CheckHolds(store_->capabilities(), **schema); !held) return held;
  if (Status adopted = store_->Adopt(**schema); !adopted) {
    for (const TablePtr& table : store_->Tables()) context_->counters.Reopen(table->id);
    return adopted;
  }
  context_->live_schema.Set(Compile(*schema, ScopeFieldsOf(configured.tokens)));
  context_->writer.series().InForce(kCountSeries);
  return {};
}

Status Daemon::Begin() {
  const std::lock_guard lock(reload_mutex_);
  // Somebody waits for a tool, and would see of a daemon that waits no more than that it does.
  const auto patience = duties_ == Duties::kAll ? kStoreAnswersIn : kToolWaitsForStore;
  if (Status there = store_->Connect(patience); !there) return there;
  if (Status opened = context_->jobs.nightly.Open(); !opened) return opened;
  if (Status taken = PutInForce(config_); !taken) return taken.error().Prefixed(config_.file);
  const Status opened = context_->jobs.Open();
  begun_ = opened.has_value();
  return opened;
}

void Daemon::StartWork() {
  TellDoubts(config_, metrics_.get());
  if (duties_ == Duties::kAll) context_->jobs.nightly.Configure(config_.schema);
  flusher_ = std::make_unique<CounterFlusher>(&context_->counters, store_.get(), &clock_);
  flusher_->Start();
  if (duties_ == Duties::kAll) {
    heat_keeper_ = std::make_unique<HeatKeeper>(&context_->heat, store_.get(), &clock_);
  }
  row_measurer_ = std::make_unique<RowMeasurer>(&context_->row_sizes, store_.get(), &clock_);
  context_->keys.Start();
  NoteConfiguration(true);
}

Status Daemon::Start() {
  JobOptions jobs;
  jobs.cpu = config_.storage.seal_cpu;
  jobs.slice_us = config_.storage.seal_window_us;
  jobs.refresh = [this]() -> Status {
    const std::lock_guard lock(reload_mutex_);
    return PutInForce(config_);
  };
  context_ = std::make_unique<ApiContext>(*store_, clock_, *metrics_, registry_, config_.server,
                                          HelperThreads(config_.server), std::move(jobs));
  context_->version = kVersion;
  context_->started = clock_.Now();
  TakeTokens(config_.tokens);
  context_->reload = [this] { return Reload(); };
  const Status begun = Begin();
  if (!begun && !MayWait(begun.error())) return begun;
  if (begun) StartWork();
  if (Status listening = StartServer(); !listening) return listening;
  health_watch_ = std::make_unique<HealthWatch>(
      &commit_progress_, std::make_unique<DirectoryProbe>(config_.storage.path),
      &context_->commits_wait, &service_manager_);
  health_watch_->Start();
  context_->ready = true;
  if (!begun) WaitForStore(begun.error());
  server_->Start();
  if (begun && duties_ == Duties::kAll) context_->jobs.Start();
  TellAddresses();
  if (begun) service_manager_.Ready(fmt::format("serving on port {}", server_->port()));
  return {};
}

void Daemon::TellAddresses() {
  const std::string data = config_.storage.has_directory()
                               ? config_.storage.path
                               : fmt::format("the engine {}", config_.storage.engine);
  for (const ListenAddress& address : server_->addresses()) {
    const std::string_view port = std::string_view(address.at).substr(address.at.rfind(':') + 1);
    spdlog::info("tallyd {} listens on {} (port {}){}, data in {}", kBuild, address.at, port,
                 address.tls ? " by TLS" : "", data);
  }
  for (const ListenAddress& address : server_->other_addresses()) {
    spdlog::info("lines of OpenTSDB (telnet) are taken on {}", address.at);
  }
}

// Of one that is on this machine nothing is to be waited for.
bool Daemon::MayWait(const Error& error) const {
  return duties_ == Duties::kAll && !config_.storage.has_directory() &&
         error.code() == ErrorCode::kUnavailable;
}

// What answers meanwhile finds a schema, by which no event is taken.
void Daemon::AnswerWithoutStore(const Config& configured) {
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = configured.schema;
  snapshot->scope_fields = ScopeFieldsOf(configured.tokens);
  context_->live_schema.Set(std::move(snapshot));
}

void Daemon::WaitForStore(const Error& error) {
  AnswerWithoutStore(config_);
  context_->starting = true;
  spdlog::warn("the store is away: {}; until it is there /readyz and what needs it are 503",
               error.message());
  service_manager_.Ready("waiting for the store");
  starter_.Start(kBetweenStarts, [this] { return TryToBegin(); });
}

RepeatingThread::Wait Daemon::TryToBegin() {
  constexpr RepeatingThread::Wait kDone = std::chrono::hours(1);
  if (!context_->starting || start_failed_) return kDone;
  if (const Status begun = Begin(); !begun) {
    if (MayWait(begun.error())) return kBetweenStarts;
    const std::lock_guard lock(start_mutex_);
    start_failed_ = begun.error();
    ::kill(::getpid(), SIGTERM);  // WaitForStop takes it.
    return kDone;
  }
  {
    const std::lock_guard lock(reload_mutex_);
    StartWork();
  }
  context_->jobs.Start();
  context_->starting = false;
  spdlog::info("the store is there: serving");
  service_manager_.Ready(fmt::format("serving on port {}", server_->port()));
  return kDone;
}

Status Daemon::WaitForStop() {
  while (true) {
    const int signal = WaitForSignal();
    if (signal == SIGTERM || signal == SIGINT) {
      const std::lock_guard lock(start_mutex_);
      return start_failed_ ? Status(*start_failed_) : Status();
    }
    if (signal == SIGHUP) {
      const Result<Reloaded> reloaded = Reload();
      if (reloaded) {
        spdlog::info("SIGHUP: reloaded {}", config_.file);
      } else {
        LogLines(spdlog::level::err,
                 reloaded.error().Prefixed("SIGHUP: the configuration in force stays").message());
      }
    }
  }
}

Result<Reloaded> Daemon::Reload() {
  const std::lock_guard lock(reload_mutex_);
  service_manager_.Reloading();
  Result<Config> loaded = LoadConfig(config_.file);
  Result<Reloaded> taken = loaded ? Apply(std::move(*loaded)) : Result<Reloaded>(loaded.error());
  NoteConfiguration(taken.has_value());
  const std::string_view state = begun_ ? "serving" : "waiting for the store";
  service_manager_.Ready(taken ? std::string(state)
                               : fmt::format("{}; the last reload was refused", state));
  if (!taken) return RefusedReload(taken.error());
  return taken;
}

Result<Reloaded> Daemon::Apply(Config loaded) {
  if (Status same = CheckReload(config_, loaded); !same) return same.error();
  Result<TlsContextPtr> tls = LoadTls(loaded, tls_, clock_.Now());
  if (!tls) return tls.error();
  if (Status safe = CheckListening(loaded, server_->addresses()); !safe) return safe.error();
  Reloaded reloaded = TakenAway(*config_.schema, *loaded.schema);
  if (begun_) {
    if (Status taken = PutInForce(loaded); !taken) return taken.error();
    for (const LintFinding& finding : context_->snapshot()->findings) {
      if (finding.rule == kRuleOfInputs) reloaded.warnings.push_back(TextOf(finding));
    }
    if (const Status set = store_->SetAgain(*loaded.schema); !set) {
      spdlog::warn("what others changed in the store stays so: {}", set.error().message());
    }
  } else {
    AnswerWithoutStore(loaded);
    spdlog::info("the store is away: {} is adopted when it is there", loaded.file);
  }
  config_.tokens = loaded.tokens;
  TakeTokens(config_.tokens);
  if (begun_) {
    TellDoubts(loaded, metrics_.get());
    context_->jobs.nightly.Configure(loaded.schema);
  }
  config_.schema = loaded.schema;
  config_.log = loaded.log;
  config_.server.tls = loaded.server.tls;
  if (*tls != tls_) TakeTls(std::move(*tls));
  config_.server.cors = loaded.server.cors;
  context_->cors.Set(config_.server.cors);
  ConfigureLogging(config_.log);
  for (const std::string& name : reloaded.streams) {
    spdlog::warn("the reload took away stream {}: its events are refused", name);
  }
  for (const std::string& name : reloaded.tables) {
    spdlog::warn("the reload took away table {}: it keeps its rows, and takes no more", name);
  }
  return reloaded;
}

// By their names, and nothing else of them.
void Daemon::TakeTokens(const std::vector<TokenConfig>& tokens) {
  if (!tokens.empty()) KeepSecretsOutOfCores();
  context_->SetPrincipals(tokens.size());
  const TokenChanges changes = context_->tokens.Set(tokens);
  for (const auto& [what, names] :
       {std::pair("added", &changes.added), std::pair("removed", &changes.removed),
        std::pair("changed", &changes.changed)}) {
    for (const std::string& name : *names) spdlog::info("token {}: {}", name, what);
  }
}

void Daemon::TakeTls(TlsContextPtr tls) {
  tls_ = std::move(tls);
  server_->UseTls(tls_);
  if (!tls_) return;
  metrics_->tls.Describe(*tls_);
  spdlog::info("new connections are shown the certificate of {}, which expires at {}",
               tls_->subject(), FormatRfc3339(tls_->valid_to()));
}

void Daemon::NoteConfiguration(bool taken) {
  reload_successful_.Set(taken ? 1 : 0);
  if (taken) reload_time_.Set(static_cast<double>(clock_.Now()) / kUsPerSecond);
}

void Daemon::Stop() {
  if (!server_) return;
  service_manager_.Stopping();
  spdlog::info("stopping: no new connections, requests in flight finish");
  context_->ready = false;
  store_->EndBy(std::chrono::steady_clock::now() + kLastWords +
                std::chrono::microseconds(config_.server.drain_timeout_us));
  starter_.Stop();
  context_->jobs.Stop();
  context_->writer.series().Stop();
  server_->Drain();
  // What was submitted by then is committed in order, and so held before what is held is written.
  if (const Status last = store_->Commit(store_->NewBatch()); !last) {
    spdlog::warn("stopping while nothing can be written: {}", last.error().message());
  }
  if (flusher_) flusher_->Stop();
  context_->keys.Stop();
  if (heat_keeper_) heat_keeper_->Stop();
  if (row_measurer_) row_measurer_->Stop();
  // Queries and a settling that were cut go on until then: what was held is written before. The
  // store still answers to connections that were cut: their event loops outlive it.
  store_->Close();
  if (health_watch_) health_watch_->Stop();
  server_.reset();
  context_->live_schema.Set(nullptr);
  spdlog::info("stopped");
}

}  // namespace tallyd
