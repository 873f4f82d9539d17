// TabletState: what the services of one tablet server share: its tables, by their full names, its
// clock and its faults. Thread-safe.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_TABLET_STATE_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_TABLET_STATE_H_

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bigtable/tablet/faults.h"
#include "tests/bigtable/tablet/stored_table.h"

namespace tallyd::tablet {

class TabletState {
 public:
  TabletState(unsigned seed, int64_t granularity_us)
      : granularity_us_(granularity_us), faults_(seed) {}

  Faults& faults() { return faults_; }
  // Of tables that ask for none.
  int64_t granularity_us() const { return granularity_us_; }
  int64_t NowUs() const;
  void PassUs(int64_t us) { ahead_us_ += us; }

  // Null: there is none.
  std::shared_ptr<StoredTable> Find(const std::string& name) const;
  // False where the name is taken.
  bool Add(const std::shared_ptr<StoredTable>& table);
  void Remove(const std::string& name);
  std::vector<std::shared_ptr<StoredTable>> TablesOf(const std::string& parent) const;

  void CollectGarbage(int64_t now_us);
  void SplitTablets(size_t rows_max);

 private:
  std::vector<std::shared_ptr<StoredTable>> Tables() const;

  const int64_t granularity_us_;
  Faults faults_;
  std::atomic<int64_t> ahead_us_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StoredTable>> tables_;  // Guarded by mutex_.
};

// What a call is met with, before its own work and behind it.
class CallFate {
 public:
  CallFate(TabletState* state, grpc::ServerContext* context, const Call& call, bool writes);

  // Not OK: the call ends with it, and nothing is done.
  const grpc::Status& before() const { return before_; }
  // How it ends that would end so by itself.
  grpc::Status End(const grpc::Status& status);
  // Whether its work is done and not told.
  bool IsUnanswered() const { return verdict_.outcome == Outcome::kUnanswered; }
  // A bit of google.bigtable.v2.FeatureFlags, by its field's number.
  bool TakesFeature(int field) const { return (features_ >> field & 1) != 0; }

 private:
  grpc::Status Dressed(const grpc::Status& status);

  TabletState* const state_;
  grpc::ServerContext* const context_;
  uint32_t features_ = 0;
  Verdict verdict_;
  grpc::Status before_;
};

grpc::Status NoTable(const std::string& name);

// What the server offers.
std::unique_ptr<grpc::Service> MakeDataService(TabletState* state);
std::unique_ptr<grpc::Service> MakeAdminService(TabletState* state);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_TABLET_STATE_H_
