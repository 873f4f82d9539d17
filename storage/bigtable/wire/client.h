// BigtableClient: Bigtable's calls, one try each; whoever calls tries again (wire/retry.h). Beside
// the pool of its channels (wire/channel_pool.h) and gRPC's log (wire/grpc_log.h) it is the one
// place that knows gRPC: credentials, headers, deadlines.
//
//   auto client = BigtableClient::Make(config);
//   const RpcStatus found = (*client)->GetTable(request, &table, deadline);
//
// Names are full (TableName). Deadlines are of the monotonic clock. Calls block; any thread.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_CLIENT_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/bigtable/proto/bigtable_admin.pb.h"
#include "storage/bigtable/proto/bigtable_data.pb.h"
#include "storage/bigtable/wire/ending.h"
#include "storage/bigtable/wire/write_pace.h"

namespace tallyd {

namespace data_api = google::bigtable::v2;
namespace admin_api = google::bigtable::admin::v2;
using SteadyTime = std::chrono::steady_clock::time_point;

// DO NOT CHANGE THESE VALUES: they are the wire's (google.rpc.Code).
enum class RpcCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// How a call, or an entry of one, ended.
struct RpcStatus {
  RpcCode code = RpcCode::kOk;
  std::string message;
  // The service says when it is to be tried again, which it may be then, whatever the code.
  std::optional<std::chrono::microseconds> retry_after = {};
  bool given_up = false;  // By this side (EndBy): no other try would be made.
  bool ok() const { return code == RpcCode::kOk; }
};

// One MutateRows: what is sent, and how each of its entries ended. An entry of which the answer
// says nothing ends as the call did, or kUnavailable where that ended well.
struct MutateRowsTry {
  data_api::MutateRowsRequest request;
  std::vector<RpcStatus> ended;
};
struct CheckAndMutateTry {
  data_api::CheckAndMutateRowRequest request;
  data_api::CheckAndMutateRowResponse response;
  RpcStatus ended;
};

// One ReadRows under way. Ends with its life. One thread.
class RowsCall {
 public:
  enum class Step : uint8_t { kMessage, kEnded, kWaiting };
  virtual ~RowsCall() = default;
  // kWaiting: nothing came until then; ask again.
  virtual Step Await(SteadyTime until, data_api::ReadRowsResponse* message) = 0;
  virtual const RpcStatus& ended() const = 0;  // After kEnded.
};

class BigtableClient {
 public:
  // Connects when it is first called. kInvalid, naming the key: credentials that cannot be used.
  static Result<std::unique_ptr<BigtableClient>> Make(const BigtableConfig& config);
  virtual ~BigtableClient() = default;

  // "projects/P/instances/I", and behind it "/tables/T" with the prefix.
  const std::string& instance_name() const { return instance_name_; }
  std::string TableName(std::string_view table) const {
    return instance_name_ + "/tables/" + config_.prefix + std::string(table);
  }
  const BigtableConfig& config() const { return config_; }
  // Of a request that begins now, with all that is tried again for it.
  SteadyTime NewDeadline() const {
    return std::chrono::steady_clock::now() + std::chrono::microseconds(config_.deadline_us);
  }
  // From then on calls under way are given up, others fail at once, and ending() has begun. Once;
  // any thread.
  virtual void EndBy(SteadyTime when) = 0;
  Ending& ending() { return ending_; }
  // Whoever sends rows asks it; what the service answers it is told here.
  WritePace& pace() { return pace_; }
  bool is_emulator() const { return !config_.emulator.empty(); }

  virtual std::unique_ptr<RowsCall> ReadRows(const data_api::ReadRowsRequest& request,
                                             SteadyTime deadline) = 0;
  // All of them, at most `calls` at once.
  virtual void MutateRows(std::span<MutateRowsTry> tries, SteadyTime deadline) = 0;
  virtual void CheckAndMutateRows(std::span<CheckAndMutateTry> tries, SteadyTime deadline) = 0;
  virtual RpcStatus SampleRowKeys(const data_api::SampleRowKeysRequest& request,
                                  std::vector<data_api::SampleRowKeysResponse>* samples,
                                  SteadyTime deadline) = 0;

  virtual RpcStatus GetTable(const admin_api::GetTableRequest& request, admin_api::Table* table,
                             SteadyTime deadline) = 0;
  virtual RpcStatus CreateTable(const admin_api::CreateTableRequest& request,
                                SteadyTime deadline) = 0;
  virtual RpcStatus DeleteTable(const admin_api::DeleteTableRequest& request,
                                SteadyTime deadline) = 0;
  virtual RpcStatus ModifyColumnFamilies(const admin_api::ModifyColumnFamiliesRequest& request,
                                         SteadyTime deadline) = 0;
  virtual RpcStatus DropRowRange(const admin_api::DropRowRangeRequest& request,
                                 SteadyTime deadline) = 0;

 protected:
  explicit BigtableClient(const BigtableConfig& config)
      : config_(config),
        instance_name_("projects/" + config.project + "/instances/" + config.instance) {}

 private:
  const BigtableConfig config_;
  const std::string instance_name_;
  Ending ending_;
  WritePace pace_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_CLIENT_H_
