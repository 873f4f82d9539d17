// Daemon: everything wired together. Members stand in the order of their lives: metrics, store, API
// context, server.
//
//   Daemon daemon(std::move(config));
//   Status s = daemon.Open();  if (s) s = daemon.Start();
//   s = daemon.WaitForStop();
//   daemon.Stop();
//
// Signals are blocked in every thread and taken by WaitForStop: SIGTERM and SIGINT end it, SIGHUP
// reloads. Reload may also come from a query thread (POST /-/reload); it is serialised.
#ifndef TALLYD_DAEMON_DAEMON_H_
#define TALLYD_DAEMON_DAEMON_H_

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <mutex>
#include <optional>

#include "api/http/server.h"
#include "api/tls/tls_context.h"
#include "config/file/config.h"
#include "config/values/repeating_thread.h"
#include "daemon/handed_in.h"
#include "daemon/health_watch.h"
#include "daemon/service_manager.h"
#include "ingest/hold/counter_flusher.h"
#include "service/heat/heat_keeper.h"
#include "service/limits/row_measurer.h"
#include "storage/commit_progress.h"

namespace tallyd {

enum class Duties : uint8_t {
  kAll,
  // It answers, and keeps the store as every daemon does; but it makes and removes no nightly
  // tables, what passes is not counted as load, and systemd is told nothing of it.
  kAnswers,
};

class Daemon {
 public:
  // `sockets`: those to serve in place of what the configuration says.
  explicit Daemon(Config config, Duties duties = Duties::kAll, HandedIn sockets = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Reads the files that the configuration names beside the store's, and judges where it is to
  // listen. kInvalid says what must change first.
  Status Prepare();
  // Opens the store, recovery included. What it refuses lies in the data, not in the file.
  Status Open();
  // Adopts the schema, listens. kConflict and kInvalid: the file must change first. Where the store
  // is elsewhere and away it listens all the same, refuses what needs the store, and goes on by
  // itself once that is there.
  Status Start();
  unsigned short port() const { return server_->port(); }  // Between Start and Stop.
  // Until it is told to end; or what came of a start that had to wait: an error as Start's.
  Status WaitForStop();
  // Drains connections, then the store. Nothing acknowledged is lost.
  void Stop();
  // Tells the metrics, and whoever asked; the log is theirs. kConflict where the file is what keeps
  // the old configuration in force. While the start waits for its store, the file is the one that
  // is adopted when that comes: what the store refuses of it ends the start.
  Result<Reloaded> Reload();

 private:
  Result<Reloaded> Apply(Config loaded);
  // What needs the store: reaches it and puts the file in force. May be called again after an
  // error.
  Status Begin();
  void StartWork();  // Once Begin is through.
  bool MayWait(const Error& error) const;
  void WaitForStore(const Error& error);
  RepeatingThread::Wait TryToBegin();
  void AnswerWithoutStore(const Config& configured);
  void TellAddresses();
  Status StartServer();
  Status ListenForTelnet();
  void TakeTls(TlsContextPtr tls);  // New connections speak with it.
  // Adopts the schema with the nightly tables that there are, and puts it in force; of the rest it
  // takes what lint needs. REQUIRES: reload_mutex_, once the daemon serves.
  Status PutInForce(const Config& configured);
  void TakeTokens(const std::vector<TokenConfig>& tokens);
  void NoteConfiguration(bool taken);
  std::shared_ptr<const SchemaSnapshot> Compile(std::shared_ptr<const Schema> schema,
                                                ScopeFields scope_fields);

  Config config_;
  const Duties duties_;
  const HandedIn sockets_;
  TlsContextPtr tls_;  // In force.
  SystemClock clock_;
  prometheus::Registry registry_;
  ServiceManager service_manager_;
  std::unique_ptr<ApiMetrics> metrics_;
  prometheus::Gauge& reload_successful_;  // tallyd_config_last_reload_successful
  prometheus::Gauge& reload_time_;        // ..._last_reload_success_timestamp_seconds
  CommitProgress commit_progress_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ApiContext> context_;
  std::unique_ptr<CounterFlusher> flusher_;
  std::unique_ptr<HeatKeeper> heat_keeper_;
  std::unique_ptr<RowMeasurer> row_measurer_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HealthWatch> health_watch_;
  std::mutex reload_mutex_;
  bool begun_ = false;  // The store has adopted a file. Guarded by reload_mutex_.
  std::mutex start_mutex_;
  std::optional<Error> start_failed_;  // Guarded by start_mutex_: after it had to wait.
  RepeatingThread starter_;            // Last: it uses what stands above.
};

// Blocks SIGTERM, SIGINT and SIGHUP for this thread and all it starts; ignores SIGPIPE. Call first
// in main.
void BlockSignals();

}  // namespace tallyd

#endif  // TALLYD_DAEMON_DAEMON_H_
