#include "storage/bigtable/wire/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "config/values/repeating_thread.h"
#include "storage/bigtable/proto/bigtable_admin.grpc.pb.h"
#include "storage/bigtable/proto/bigtable_data.grpc.pb.h"
#include "storage/bigtable/wire/channel_pool.h"
#include "storage/bigtable/wire/grpc_log.h"

namespace tallyd {
namespace {

using admin_api::BigtableTableAdmin;
using data_api::Bigtable;

// FeatureFlags{reverse_scans = 1, mutate_rows_rate_limit = 3, last_scanned_row_responses = 4,
// mutate_rows_rate_limit2 = 5, retry_info = 7}, in base64 that goes into URLs.
constexpr const char* kFeatures = "CAEYASABKAE4AQ==";

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      escaped.push_back(c);
    } else {
      escaped.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
  }
  return escaped;
}

std::chrono::system_clock::time_point OnWallClock(SteadyTime deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
}

// Not below 0, and not above what is ever waited for.
std::chrono::microseconds MicrosIn(const google::protobuf::Duration& duration) {
  constexpr std::chrono::seconds kLongest(60);
  const std::chrono::seconds seconds(std::clamp<int64_t>(duration.seconds(), 0, kLongest.count()));
  const std::chrono::nanoseconds rest(std::max(duration.nanos(), 0));
  return seconds + std::chrono::duration_cast<std::chrono::microseconds>(rest);
}

std::optional<std::chrono::microseconds> RetryAfter(const google::rpc::Status& status) {
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    return MicrosIn(info.retry_delay());
  }
  return std::nullopt;
}

RpcStatus StatusOf(const google::rpc::Status& status) {
  return {static_cast<RpcCode>(status.code()), status.message(), RetryAfter(status)};
}

// The calls that are under way, so that they end when nobody is to wait any longer.
class CallsUnderWay {
 public:
  void Add(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.insert(context);
    if (is_over_) context->TryCancel();
  }
  void Remove(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
  }
  void GiveUp() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (grpc::ClientContext* const context : contexts_) context->TryCancel();
  }

  RpcStatus StatusOf(const grpc::Status& status) const {
    RpcStatus told{static_cast<RpcCode>(status.error_code()), status.error_message()};
    if (told.ok()) return told;
    told.given_up = is_over_;
    google::rpc::Status details;
    if (!status.error_details().empty() && details.ParseFromString(status.error_details())) {
      told.retry_after = RetryAfter(details);
    }
    return told;
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::set<grpc::ClientContext*> contexts_;  // Guarded by mutex_.
};

// The context of one call, for as long as that is under way.
class CallContext {
 public:
  explicit CallContext(CallsUnderWay* calls) : calls_(*calls) { calls_.Add(&context_); }
  ~CallContext() { calls_.Remove(&context_); }
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  grpc::ClientContext* get() { return &context_; }
  RpcStatus StatusOf(const grpc::Status& status) const { return calls_.StatusOf(status); }

 private:
  CallsUnderWay& calls_;
  grpc::ClientContext context_;
};

// By the routing header the service finds the tablet without a look at the message.
void Prepare(CallContext* call, SteadyTime deadline, std::string_view key, std::string_view name,
             std::string_view app_profile = {}) {
  grpc::ClientContext* const context = call->get();
  context->set_deadline(OnWallClock(deadline));
  std::string route = fmt::format("{}={}", key, Escaped(name));
  if (!app_profile.empty()) route += "&app_profile_id=" + Escaped(app_profile);
  context->AddMetadata("x-goog-request-params", route);
  context->AddMetadata("bigtable-features", kFeatures);
}

// One of several calls that share a queue of completions.
class PooledCall {
 public:
  virtual ~PooledCall() = default;
  virtual void Start(grpc::CompletionQueue* queue) = 0;
  // What was asked for is there, or, !ok, will not come. False: the call has ended.
  virtual bool Proceed(bool ok) = 0;
};

void RunAll(std::span<const std::unique_ptr<PooledCall>> calls, size_t at_once) {
  grpc::CompletionQueue queue;
  size_t next = 0;
  size_t running = 0;
  while (next < calls.size() || running > 0) {
    for (; next < calls.size() && running < at_once; ++running) calls[next++]->Start(&queue);
    void* tag = nullptr;
    bool ok = false;
    // Each call has a deadline, so something comes.
    if (!queue.Next(&tag, &ok)) break;
    if (!static_cast<PooledCall*>(tag)->Proceed(ok)) --running;
  }
  queue.Shutdown();
}

class MutateRowsCall final : public PooledCall {
 public:
  MutateRowsCall(ChannelPool::Stub stub, CallsUnderWay* calls, WritePace* pace,
                 MutateRowsTry* mutations, SteadyTime deadline)
      : stub_(std::move(stub)), pace_(*pace), mutations_(*mutations), context_(calls) {
    Prepare(&context_, deadline, "table_name", mutations->request.table_name(),
            mutations->request.app_profile_id());
  }

  void Start(grpc::CompletionQueue* queue) override {
    reader_ = stub_->PrepareAsyncMutateRows(context_.get(), mutations_.request, queue);
    reader_->StartCall(this);
  }

  bool Proceed(bool ok) override {
    if (state_ == State::kEnding) {
      Finish();
      return false;
    }
    if (ok && state_ == State::kReading) Take();
    if (ok) {
      state_ = State::kReading;
      reader_->Read(&response_, this);
    } else {
      state_ = State::kEnding;
      reader_->Finish(&status_, this);
    }
    return true;
  }

 private:
  enum class State : uint8_t { kStarting, kReading, kEnding };

  void Take() {
    const auto entries = static_cast<size_t>(mutations_.request.entries_size());
    mutations_.ended.resize(entries, {kSilent, {}});
    for (const data_api::MutateRowsResponse::Entry& entry : response_.entries()) {
      const auto index = static_cast<size_t>(entry.index());
      if (index >= entries) continue;
      RpcStatus& ended = mutations_.ended[index];
      // Of one that is told of twice what it failed by stays.
      if (ended.code == kSilent || ended.ok()) ended = StatusOf(entry.status());
    }
    if (!response_.has_rate_limit_info()) return;
    const data_api::RateLimitInfo& asked = response_.rate_limit_info();
    pace_.Hear(asked.factor(), MicrosIn(asked.period()), std::chrono::steady_clock::now());
  }

  void Finish() {
    const auto entries = static_cast<size_t>(mutations_.request.entries_size());
    mutations_.ended.resize(entries, {kSilent, {}});
    const RpcStatus of_call = status_.ok()
                                  ? RpcStatus{RpcCode::kUnavailable, "the answer left the row out"}
                                  : context_.StatusOf(status_);
    for (RpcStatus& entry : mutations_.ended) {
      if (entry.code == kSilent) entry = of_call;
    }
  }

  static constexpr RpcCode kSilent = static_cast<RpcCode>(-1);

  const ChannelPool::Stub stub_;
  WritePace& pace_;
  MutateRowsTry& mutations_;
  CallContext context_;
  std::unique_ptr<grpc::ClientAsyncReader<data_api::MutateRowsResponse>> reader_;
  data_api::MutateRowsResponse response_;
  grpc::Status status_;
  State state_ = State::kStarting;
};

class CheckAndMutateCall final : public PooledCall {
 public:
  CheckAndMutateCall(ChannelPool::Stub stub, CallsUnderWay* calls, CheckAndMutateTry* attempt,
                     SteadyTime deadline)
      : stub_(std::move(stub)), attempt_(*attempt), context_(calls) {
    Prepare(&context_, deadline, "table_name", attempt->request.table_name(),
            attempt->request.app_profile_id());
  }

  void Start(grpc::CompletionQueue* queue) override {
    reader_ = stub_->AsyncCheckAndMutateRow(context_.get(), attempt_.request, queue);
    reader_->Finish(&attempt_.response, &status_, this);
  }

  bool Proceed(bool) override {
    attempt_.ended = context_.StatusOf(status_);
    return false;
  }

 private:
  const ChannelPool::Stub stub_;
  CheckAndMutateTry& attempt_;
  CallContext context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<data_api::CheckAndMutateRowResponse>> reader_;
  grpc::Status status_;
};

class GrpcRowsCall final : public RowsCall {
 public:
  GrpcRowsCall(ChannelPool::Stub stub, CallsUnderWay* calls,
               const data_api::ReadRowsRequest& request, SteadyTime deadline)
      : stub_(std::move(stub)), context_(calls) {
    Prepare(&context_, deadline, "table_name", request.table_name(), request.app_profile_id());
    reader_ = stub_->PrepareAsyncReadRows(context_.get(), request, &queue_);
    reader_->StartCall(this);
  }

  ~GrpcRowsCall() override {
    context_.get()->TryCancel();
    data_api::ReadRowsResponse ignored;
    const SteadyTime never = SteadyTime::max();
    while (!has_ended_) Await(never, &ignored);
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }

  Step Await(SteadyTime until, data_api::ReadRowsResponse* message) override {
    while (!has_ended_) {
      void* tag = nullptr;
      bool ok = false;
      if (until == SteadyTime::max()) {
        queue_.Next(&tag, &ok);
      } else if (queue_.AsyncNext(&tag, &ok, OnWallClock(until)) ==
                 grpc::CompletionQueue::TIMEOUT) {
        return Step::kWaiting;
      }
      if (state_ == State::kEnding) {
        has_ended_ = true;
        ended_ = context_.StatusOf(status_);
        break;
      }
      const bool is_message = ok && state_ == State::kReading;
      if (is_message) message->Swap(&response_);
      if (ok) {
        state_ = State::kReading;
        reader_->Read(&response_, this);
      } else {
        state_ = State::kEnding;
        reader_->Finish(&status_, this);
      }
      if (is_message) return Step::kMessage;
    }
    return Step::kEnded;
  }

  const RpcStatus& ended() const override { return ended_; }

 private:
  enum class State : uint8_t { kStarting, kReading, kEnding };

  const ChannelPool::Stub stub_;
  grpc::CompletionQueue queue_;
  CallContext context_;
  std::unique_ptr<grpc::ClientAsyncReader<data_api::ReadRowsResponse>> reader_;
  data_api::ReadRowsResponse response_;
  grpc::Status status_;
  State state_ = State::kStarting;
  bool has_ended_ = false;
  RpcStatus ended_;
};

class GrpcClient final : public BigtableClient {
 public:
  GrpcClient(const BigtableConfig& config,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : BigtableClient(config) {
    const std::string& own = is_emulator() ? config.emulator : config.endpoint;
    ChannelPoolOptions pool;
    pool.address = own.empty() ? "bigtable.googleapis.com:443" : own;
    pool.credentials = credentials;
    pool.channels = config.channels;
    pool.warm = [this](Bigtable::Stub* stub) { Warm(stub); };
    channels_ = std::make_unique<ChannelPool>(pool);
    const std::string admin = own.empty() ? "bigtableadmin.googleapis.com:443" : own;
    admin_ = BigtableTableAdmin::NewStub(
        grpc::CreateCustomChannel(admin, credentials, ChannelArgumentsOf(-1)));
  }

  void EndBy(SteadyTime when) override {
    const auto left =
        std::chrono::ceil<RepeatingThread::Wait>(when - std::chrono::steady_clock::now());
    const auto give_up = [this] {
      calls_.GiveUp();
      ending().Begin();
    };
    if (left.count() <= 0) return give_up();
    end_.Start(left, [give_up] {
      give_up();
      return RepeatingThread::Wait(std::chrono::hours(1));
    });
  }

  std::unique_ptr<RowsCall> ReadRows(const data_api::ReadRowsRequest& request,
                                     SteadyTime deadline) override {
    return std::make_unique<GrpcRowsCall>(NextStub(), &calls_, request, deadline);
  }

  void MutateRows(std::span<MutateRowsTry> tries, SteadyTime deadline) override {
    std::vector<std::unique_ptr<PooledCall>> calls;
    for (MutateRowsTry& each : tries) {
      calls.push_back(
          std::make_unique<MutateRowsCall>(NextStub(), &calls_, &pace(), &each, deadline));
    }
    RunAll(calls, config().calls);
  }

  void CheckAndMutateRows(std::span<CheckAndMutateTry> tries, SteadyTime deadline) override {
    // Each is one row: many of them are as much as one MutateRows.
    constexpr size_t kRowsOfCall = 8;
    std::vector<std::unique_ptr<PooledCall>> calls;
    for (CheckAndMutateTry& each : tries) {
      calls.push_back(std::make_unique<CheckAndMutateCall>(NextStub(), &calls_, &each, deadline));
    }
    RunAll(calls, config().calls * kRowsOfCall);
  }

  RpcStatus SampleRowKeys(const data_api::SampleRowKeysRequest& request,
                          std::vector<data_api::SampleRowKeysResponse>* samples,
                          SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "table_name", request.table_name(), request.app_profile_id());
    const ChannelPool::Stub stub = NextStub();
    const auto reader = stub->SampleRowKeys(context.get(), request);
    data_api::SampleRowKeysResponse sample;
    while (reader->Read(&sample)) samples->push_back(sample);
    return context.StatusOf(reader->Finish());
  }

  RpcStatus GetTable(const admin_api::GetTableRequest& request, admin_api::Table* table,
                     SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "name", request.name());
    return context.StatusOf(admin_->GetTable(context.get(), request, table));
  }

  RpcStatus CreateTable(const admin_api::CreateTableRequest& request,
                        SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "parent", request.parent());
    admin_api::Table made;
    return context.StatusOf(admin_->CreateTable(context.get(), request, &made));
  }

  RpcStatus DeleteTable(const admin_api::DeleteTableRequest& request,
                        SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "name", request.name());
    google::protobuf::Empty nothing;
    return context.StatusOf(admin_->DeleteTable(context.get(), request, &nothing));
  }

  RpcStatus ModifyColumnFamilies(const admin_api::ModifyColumnFamiliesRequest& request,
                                 SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "name", request.name());
    admin_api::Table changed;
    return context.StatusOf(admin_->ModifyColumnFamilies(context.get(), request, &changed));
  }

  RpcStatus DropRowRange(const admin_api::DropRowRangeRequest& request,
                         SteadyTime deadline) override {
    CallContext context(&calls_);
    Prepare(&context, deadline, "name", request.name());
    google::protobuf::Empty nothing;
    return context.StatusOf(admin_->DropRowRange(context.get(), request, &nothing));
  }

 private:
  ChannelPool::Stub NextStub() { return channels_->Next(); }

  // However that ends, the connection is as good as one that was not warmed.
  void Warm(Bigtable::Stub* stub) {
    constexpr std::chrono::seconds kWarmsIn(2);
    data_api::PingAndWarmRequest request;
    request.set_name(instance_name());
    request.set_app_profile_id(config().app_profile);
    CallContext context(&calls_);
    Prepare(&context, std::chrono::steady_clock::now() + kWarmsIn, "name", request.name(),
            request.app_profile_id());
    data_api::PingAndWarmResponse nothing;
    (void)stub->PingAndWarm(context.get(), request, &nothing);
  }

  CallsUnderWay calls_;
  std::unique_ptr<ChannelPool> channels_;
  std::unique_ptr<BigtableTableAdmin::Stub> admin_;
  RepeatingThread end_;  // Last: it uses what stands above.
};

Result<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const BigtableConfig& config) {
  if (!config.emulator.empty()) return grpc::InsecureChannelCredentials();
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (config.credentials.empty()) {
    credentials = grpc::GoogleDefaultCredentials();
    if (credentials != nullptr) return credentials;
    return Invalid(
        "storage.bigtable.credentials: the environment has none; accepted: a service account's "
        "key, here or by GOOGLE_APPLICATION_CREDENTIALS, or a machine with a metadata server");
  }
  std::ostringstream key;
  key << std::ifstream(config.credentials, std::ios::binary).rdbuf();
  constexpr long kTokenSeconds = 3600;
  const auto calls = grpc::ServiceAccountJWTAccessCredentials(key.str(), kTokenSeconds);
  if (calls == nullptr) {
    return Invalid(
        fmt::format("storage.bigtable.credentials: {} is no service account's key in JSON",
                    config.credentials));
  }
  credentials = grpc::SslCredentials(grpc::SslCredentialsOptions());
  return grpc::CompositeChannelCredentials(credentials, calls);
}

}  // namespace

Result<std::unique_ptr<BigtableClient>> BigtableClient::Make(const BigtableConfig& config) {
  TakeLogOfGrpc();
  const auto credentials = MakeCredentials(config);
  if (!credentials) return credentials.error();
  return std::unique_ptr<BigtableClient>(std::make_unique<GrpcClient>(config, *credentials));
}

}  // namespace tallyd
