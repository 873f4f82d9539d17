#include "tests/bigtable/tablet/tablet_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <mutex>

#include "tests/bigtable/tablet/limits.h"
#include "tests/bigtable/tablet/tablet_state.h"

namespace tallyd::tablet {

class TabletServer::Impl {
 public:
  explicit Impl(const TabletServerOptions& options)
      : listen_(options.listen),
        state_(options.seed, options.granularity_us),
        data_(MakeDataService(&state_)),
        admin_(MakeAdminService(&state_)) {}
  ~Impl() { Stop(); }

  bool Start() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(listen_, grpc::InsecureServerCredentials(), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
    builder.SetMaxSendMessageSize(static_cast<int>(kMessageBytesMax));
    builder.RegisterService(data_.get());
    builder.RegisterService(admin_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) return false;
    listen_ = listen_.substr(0, listen_.rfind(':') + 1) + std::to_string(port);
    is_listening_ = true;
    return true;
  }

  void Stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

  std::string address() const { return is_listening_ ? listen_ : ""; }
  TabletState& state() { return state_; }

 private:
  std::string listen_;
  bool is_listening_ = false;
  TabletState state_;
  const std::unique_ptr<grpc::Service> data_;
  const std::unique_ptr<grpc::Service> admin_;
  std::unique_ptr<grpc::Server> server_;
};

TabletServer::TabletServer(const TabletServerOptions& options)
    : impl_(std::make_unique<Impl>(options)) {
  impl_->Start();
}

TabletServer::~TabletServer() = default;

std::string TabletServer::address() const { return impl_->address(); }
Faults& TabletServer::faults() { return impl_->state().faults(); }
void TabletServer::Stop() { impl_->Stop(); }
bool TabletServer::Start() { return impl_->Start(); }
void TabletServer::CollectGarbage(int64_t now_us) { impl_->state().CollectGarbage(now_us); }
void TabletServer::SplitTablets(size_t rows_max) { impl_->state().SplitTablets(rows_max); }
void TabletServer::PassUs(int64_t us) { impl_->state().PassUs(us); }

size_t TabletServer::RowsOf(const std::string& table) const {
  const auto found = impl_->state().Find(table);
  if (found == nullptr) return 0;
  const std::scoped_lock lock(found->mutex);
  return found->rows.size();
}

std::optional<std::vector<TabletServer::Cell>> TabletServer::CellsOf(
    const std::string& table) const {
  const auto found = impl_->state().Find(table);
  if (found == nullptr) return std::nullopt;
  const std::scoped_lock lock(found->mutex);
  std::vector<Cell> cells;
  for (const auto& [key, row] : found->rows) {
    for (const auto& [family, columns] : row) {
      for (const auto& [qualifier, versions] : columns) {
        cells.push_back({key, *found->NameOf(family), qualifier, versions.begin()->second});
      }
    }
  }
  return cells;
}

bool TabletServer::KeepVersions(const std::string& table, const std::string& family, int versions) {
  const auto found = impl_->state().Find(table);
  if (found == nullptr) return false;
  const std::scoped_lock lock(found->mutex);
  const auto known = found->families.find(family);
  if (known == found->families.end()) return false;
  known->second.definition.mutable_gc_rule()->set_max_num_versions(versions);
  return true;
}

}  // namespace tallyd::tablet
