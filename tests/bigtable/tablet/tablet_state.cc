#include "tests/bigtable/tablet/tablet_state.h"

#include <chrono>
#include <optional>
#include <utility>

#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kCookie = "x-goog-cbt-cookie-test";
constexpr size_t kTabletRows = 20;  // A tablet that is split by chance has more.
constexpr int kRoutingCookie = 6;
constexpr int kRetryInfo = 7;

std::string DecodeBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const size_t value = kBase64.find(digit);
    if (value == std::string_view::npos) break;  // Padding.
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

std::optional<std::string_view> Header(const grpc::ServerContext& context, std::string_view name) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(grpc::string_ref(name.data(), name.size()));
  if (found == headers.end()) return std::nullopt;
  return std::string_view(found->second.data(), found->second.size());
}

uint32_t FeaturesOf(std::string_view header) {
  v2::FeatureFlags flags;
  if (!flags.ParseFromString(DecodeBase64(header))) return 0;
  return uint32_t{flags.reverse_scans()} << 1 | uint32_t{flags.mutate_rows_rate_limit()} << 3 |
         uint32_t{flags.last_scanned_row_responses()} << 4 |
         uint32_t{flags.mutate_rows_rate_limit2()} << 5 |
         uint32_t{flags.routing_cookie()} << kRoutingCookie |
         uint32_t{flags.retry_info()} << kRetryInfo;
}

}  // namespace

int64_t TabletState::NowUs() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count() + ahead_us_;
}

std::shared_ptr<StoredTable> TabletState::Find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

bool TabletState::Add(const std::shared_ptr<StoredTable>& table) {
  const std::scoped_lock lock(mutex_);
  return tables_.try_emplace(table->name, table).second;
}

void TabletState::Remove(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  tables_.erase(name);
}

std::vector<std::shared_ptr<StoredTable>> TabletState::TablesOf(const std::string& parent) const {
  std::vector<std::shared_ptr<StoredTable>> found;
  for (auto& table : Tables()) {
    if (table->name.starts_with(parent + "/tables/")) found.push_back(std::move(table));
  }
  return found;
}

void TabletState::CollectGarbage(int64_t now_us) {
  for (const auto& table : Tables()) {
    const std::scoped_lock lock(table->mutex);
    table->CollectGarbage(now_us);
  }
}

void TabletState::SplitTablets(size_t rows_max) {
  for (const auto& table : Tables()) {
    const std::scoped_lock lock(table->mutex);
    table->SplitTablets(rows_max);
  }
}

std::vector<std::shared_ptr<StoredTable>> TabletState::Tables() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<StoredTable>> tables;
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

CallFate::CallFate(TabletState* state, grpc::ServerContext* context, const Call& call, bool writes)
    : state_(state), context_(context) {
  Faults& faults = state->faults();
  if (const auto flags = Header(*context, "bigtable-features")) features_ = FeaturesOf(*flags);
  if (!Header(*context, "x-goog-request-params")) faults.Add("unrouted");
  if (Header(*context, kCookie)) faults.Add("cookies_returned");
  faults.Sleep();
  if (faults.Happens(&FaultRates::collections)) state->CollectGarbage(state->NowUs());
  if (faults.Happens(&FaultRates::tablet_splits)) state->SplitTablets(kTabletRows);
  verdict_ = faults.DecideCall(call, writes);
  if (verdict_.outcome == Outcome::kRefused) before_ = Dressed(verdict_.status);
}

grpc::Status CallFate::End(const grpc::Status& status) {
  return IsUnanswered() && status.ok() ? Dressed(verdict_.status) : status;
}

// What a client may be told beside a failure that passes: to send a cookie back, and when to try
// again.
grpc::Status CallFate::Dressed(const grpc::Status& status) {
  if (TakesFeature(kRoutingCookie)) {
    context_->AddTrailingMetadata(std::string(kCookie), "crumb");
    state_->faults().Add("cookies_sent");
  }
  if (!TakesFeature(kRetryInfo) || !state_->faults().Happens(&FaultRates::retry_infos)) {
    return status;
  }
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_nanos(5'000'000);
  google::rpc::Status details;
  details.set_code(status.error_code());
  details.set_message(status.error_message());
  details.add_details()->PackFrom(info);
  return {status.error_code(), status.error_message(), details.SerializeAsString()};
}

grpc::Status NoTable(const std::string& name) {
  return {grpc::StatusCode::NOT_FOUND, "table \"" + name + "\" not found"};
}

}  // namespace tallyd::tablet
