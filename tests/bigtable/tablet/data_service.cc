// The data service: google.bigtable.v2.Bigtable.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/bigtable/proto/bigtable_data.grpc.pb.h"
#include "tests/bigtable/tablet/limits.h"
#include "tests/bigtable/tablet/row_changes.h"
#include "tests/bigtable/tablet/row_reader.h"
#include "tests/bigtable/tablet/tablet_state.h"

namespace tallyd::tablet {
namespace {

using grpc::ServerContext;
using grpc::ServerWriter;
using grpc::Status;
using grpc::StatusCode;

constexpr size_t kResponseBytes = 256 << 10;  // About so much is sent at once.
constexpr int kReverseScans = 1;
constexpr int kRateLimit = 3;
constexpr int kLastScannedRow = 4;
constexpr int kRateLimit2 = 5;
constexpr int kFilteredRowsBetween = 100;  // That many stay untold.

Status Invalid(std::string why) { return {StatusCode::INVALID_ARGUMENT, std::move(why)}; }

Status Broken() { return {StatusCode::UNAVAILABLE, "a fault of the test: the stream broke"}; }

// Of a profile that routes to several clusters.
Status CheckTransactions(const std::string& app_profile) {
  if (!app_profile.starts_with("multi")) return Status::OK;
  return {StatusCode::FAILED_PRECONDITION,
          "Single-row transactions are not allowed by this app profile"};
}

// One reading under way: puts rows into responses.
class RowSender {
 public:
  RowSender(Faults* faults, ServerWriter<v2::ReadRowsResponse>* writer)
      : faults_(faults), writer_(writer) {}

  size_t PickValueBytes() {
    is_odd_ = faults_->Happens(&FaultRates::odd_chunks);
    return is_odd_ ? 1 + faults_->UpTo(8) : 0;
  }

  // False: the stream is over.
  bool Send(const Chunks& chunks) {
    if (is_odd_ && chunks.size() > 1 && faults_->UpTo(2) == 0) {
      AddPart(chunks);
      pending_.add_chunks()->set_reset_row(true);
    }
    for (const auto& chunk : chunks) {
      *pending_.add_chunks() = chunk;
      bytes_ += chunk.value().size() + 32;
      if (is_odd_ && faults_->UpTo(2) == 0 && !Flush()) return false;
    }
    return bytes_ < kResponseBytes || Flush();
  }

  // Some of a row, which ends the stream. REQUIRES: the row has not been sent.
  void Break(const Chunks& chunks) {
    if (chunks.size() > 1 && faults_->UpTo(1) == 0) AddPart(chunks);
    Flush();
    faults_->Add("broken");
  }

  bool Scanned(const std::string& key) {
    if (!Flush()) return false;
    pending_.set_last_scanned_row_key(key);
    return Flush();
  }

  bool Flush() {
    if (pending_.chunks().empty() && pending_.last_scanned_row_key().empty()) return true;
    const bool sent = writer_->Write(pending_);
    pending_.Clear();
    bytes_ = 0;
    return sent;
  }

 private:
  void AddPart(const Chunks& chunks) {
    const size_t count = 1 + faults_->UpTo(chunks.size() - 2);
    for (size_t i = 0; i < count; ++i) *pending_.add_chunks() = chunks[i];
  }

  Faults* const faults_;
  ServerWriter<v2::ReadRowsResponse>* const writer_;
  v2::ReadRowsResponse pending_;
  size_t bytes_ = 0;
  bool is_odd_ = false;
};

class DataService final : public v2::Bigtable::Service {
 public:
  explicit DataService(TabletState* state) : state_(state) {}

  Status ReadRows(ServerContext* context, const v2::ReadRowsRequest* request,
                  ServerWriter<v2::ReadRowsResponse>* writer) override {
    CallFate fate(state_, context, {"ReadRows", request->table_name(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    if (request->ByteSizeLong() > kReadRequestBytesMax) {
      return Invalid("ReadRowsRequest exceeds maximum size of 512KiB");
    }
    if (request->reversed() && !fate.TakesFeature(kReverseScans)) {
      return {StatusCode::UNIMPLEMENTED, "Client doesn't support reverse scans yet"};
    }
    if (request->rows_limit() < 0) return Invalid("rows_limit may not be negative");
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    RowReader reader(table, state_->faults().NewSeed());
    if (Status opened = reader.Open(*request); !opened.ok()) return opened;
    RowSender sender(&state_->faults(), writer);
    Status read = SendRows(*context, *request, fate, &reader, &sender);
    if (read.ok()) sender.Flush();
    return read;
  }

  Status SampleRowKeys(ServerContext* context, const v2::SampleRowKeysRequest* request,
                       ServerWriter<v2::SampleRowKeysResponse>* writer) override {
    CallFate fate(state_, context, {"SampleRowKeys", request->table_name(), {}}, false);
    if (!fate.before().ok()) return fate.before();
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    std::vector<std::pair<std::string, int64_t>> samples;
    {
      const std::scoped_lock lock(table->mutex);
      samples = table->Samples();
    }
    for (const auto& [key, bytes] : samples) {
      v2::SampleRowKeysResponse response;
      response.set_row_key(key);
      response.set_offset_bytes(bytes);
      writer->Write(response);
    }
    return Status::OK;
  }

  Status MutateRow(ServerContext* context, const v2::MutateRowRequest* request,
                   v2::MutateRowResponse*) override {
    const Rows rows = {{request->table_name(), request->row_key()}};
    const UnderWay under_way(&state_->faults(), rows);
    CallFate fate(state_, context, {"MutateRow", request->table_name(), request->row_key()}, true);
    if (!fate.before().ok()) return fate.before();
    if (request->mutations_size() > kMutationsMax) return TooMany(request->mutations_size());
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    const std::scoped_lock lock(table->mutex);
    return fate.End(MutateOneRow(table.get(), request->row_key(), request->mutations(),
                                 request->has_idempotency() ? &request->idempotency() : nullptr,
                                 state_->NowUs()));
  }

  Status MutateRows(ServerContext* context, const v2::MutateRowsRequest* request,
                    ServerWriter<v2::MutateRowsResponse>* writer) override {
    Rows rows;
    int mutations = 0;
    for (const auto& entry : request->entries()) {
      rows.emplace_back(request->table_name(), entry.row_key());
      mutations += entry.mutations_size();
    }
    const UnderWay under_way(&state_->faults(), rows);
    CallFate fate(state_, context, {"MutateRows", request->table_name(), {}}, true);
    if (!fate.before().ok()) return fate.before();
    if (request->entries().empty()) return Invalid("No entries provided");
    if (mutations > kMutationsMax) return TooMany(mutations);
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    return fate.End(MutateEntries(*request, fate, table.get(), writer));
  }

  Status CheckAndMutateRow(ServerContext* context, const v2::CheckAndMutateRowRequest* request,
                           v2::CheckAndMutateRowResponse* response) override {
    CallFate fate(state_, context, {"CheckAndMutateRow", request->table_name(), request->row_key()},
                  true);
    if (!fate.before().ok()) return fate.before();
    if (Status may = CheckTransactions(request->app_profile_id()); !may.ok()) return may;
    if (Status fits = CheckRowKey(request->row_key()); !fits.ok()) return fits;
    const Mutations& then = request->true_mutations();
    const Mutations& otherwise = request->false_mutations();
    if (then.empty() && otherwise.empty()) return Invalid("No mutations provided");
    if (std::max(then.size(), otherwise.size()) > kMutationsMax) {
      return TooMany(std::max(then.size(), otherwise.size()));
    }
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    CellFilter filter;
    const Status made = CompileFilter(request->predicate_filter(), table->granularity_us, &filter);
    if (!made.ok()) return made;
    std::mt19937 random(state_->faults().NewSeed());
    const std::scoped_lock lock(table->mutex);
    if (Status checked = CheckMutations(*table, then); !checked.ok()) return checked;
    if (Status checked = CheckMutations(*table, otherwise); !checked.ok()) return checked;
    const auto row = table->rows.find(request->row_key());
    const bool matched = row != table->rows.end() &&
                         !Filter(filter, row->first, CellsOf(*table, row->second), &random).empty();
    const Mutations& chosen = matched ? then : otherwise;
    if (!chosen.empty()) {
      ApplyMutations(table.get(), request->row_key(), chosen, state_->NowUs(), true);
    }
    response->set_predicate_matched(matched);
    return fate.End(Status::OK);
  }

  Status ReadModifyWriteRow(ServerContext* context, const v2::ReadModifyWriteRowRequest* request,
                            v2::ReadModifyWriteRowResponse* response) override {
    CallFate fate(state_, context,
                  {"ReadModifyWriteRow", request->table_name(), request->row_key()}, true);
    if (!fate.before().ok()) return fate.before();
    if (Status may = CheckTransactions(request->app_profile_id()); !may.ok()) return may;
    if (request->rules_size() > kMutationsMax) return TooMany(request->rules_size());
    const auto table = state_->Find(request->table_name());
    if (table == nullptr) return NoTable(request->table_name());
    const std::scoped_lock lock(table->mutex);
    return fate.End(
        ReadModifyWrite(table.get(), *request, state_->NowUs(), response->mutable_row()));
  }

  Status PingAndWarm(ServerContext*, const v2::PingAndWarmRequest*,
                     v2::PingAndWarmResponse*) override {
    state_->faults().Add("PingAndWarm");
    return Status::OK;
  }

 private:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  // The rows that a call writes to, for as long as it lives.
  class UnderWay {
   public:
    UnderWay(Faults* faults, const Rows& rows) : faults_(faults), rows_(rows) {
      faults_->Enter(rows_);
    }
    ~UnderWay() { faults_->Leave(rows_); }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    Faults* const faults_;
    const Rows& rows_;
  };

  static Status TooMany(int mutations) {
    return Invalid("Too many mutations: " + std::to_string(mutations) + " provided; limit 100000");
  }

  Status SendRows(const ServerContext& context, const v2::ReadRowsRequest& request,
                  const CallFate& fate, RowReader* reader, RowSender* sender) {
    int64_t told = 0;
    int untold = 0;
    std::optional<RowReader::ReadRow> row;
    while (request.rows_limit() == 0 || told < request.rows_limit()) {
      if (context.IsCancelled()) return {StatusCode::CANCELLED, "the client went away"};
      if (Status read = reader->Next(sender->PickValueBytes(), &row); !read.ok()) {
        sender->Flush();
        return read;
      }
      if (!row) return Status::OK;
      if (state_->faults().Happens(&FaultRates::broken_streams)) {
        sender->Break(row->chunks);
        return Broken();
      }
      bool goes_on = true;
      if (!row->chunks.empty()) {
        told += 1;
        goes_on = sender->Send(row->chunks);
      } else if (++untold % kFilteredRowsBetween == 0 && fate.TakesFeature(kLastScannedRow)) {
        goes_on = sender->Scanned(row->key);
      }
      if (!goes_on) return {StatusCode::CANCELLED, "the client went away"};
    }
    return Status::OK;
  }

  v2::MutateRowsResponse::Entry MutateEntry(const v2::MutateRowsRequest& request, int index,
                                            StoredTable* table) {
    const v2::MutateRowsRequest::Entry& entry = request.entries(index);
    const Verdict verdict =
        state_->faults().DecideEntry({"Entry", request.table_name(), entry.row_key()});
    Status status = verdict.status;
    if (verdict.outcome != Outcome::kRefused) {
      const std::scoped_lock lock(table->mutex);
      const Status done =
          MutateOneRow(table, entry.row_key(), entry.mutations(),
                       entry.has_idempotency() ? &entry.idempotency() : nullptr, state_->NowUs());
      if (!done.ok() || verdict.outcome == Outcome::kDone) status = done;
    }
    v2::MutateRowsResponse::Entry answer;
    answer.set_index(index);
    answer.mutable_status()->set_code(status.error_code());
    answer.mutable_status()->set_message(status.error_message());
    return answer;
  }

  Status MutateEntries(const v2::MutateRowsRequest& request, const CallFate& fate,
                       StoredTable* table, ServerWriter<v2::MutateRowsResponse>* writer) {
    Faults& faults = state_->faults();
    std::vector<int> order(static_cast<size_t>(request.entries_size()));
    std::iota(order.begin(), order.end(), 0);
    const bool is_odd = faults.Happens(&FaultRates::odd_chunks);
    std::mt19937 random(faults.NewSeed());
    if (is_odd) std::ranges::shuffle(order, random);
    const bool breaks = faults.Happens(&FaultRates::missing_answers);
    const size_t told = breaks ? faults.UpTo(order.size() - 1) : order.size();
    const size_t done = breaks ? std::max(told, faults.UpTo(order.size())) : order.size();
    v2::MutateRowsResponse response;
    for (size_t i = 0; i < done; ++i) {
      auto answer = MutateEntry(request, order[i], table);
      if (i >= told || fate.IsUnanswered()) continue;
      *response.add_entries() = std::move(answer);
      if (is_odd && random() % 3 == 0) {
        writer->Write(response);
        response.Clear();
      }
    }
    const bool takes_limits = fate.TakesFeature(kRateLimit) || fate.TakesFeature(kRateLimit2);
    if (takes_limits && faults.Happens(&FaultRates::rate_limits)) {
      response.mutable_rate_limit_info()->mutable_period()->set_nanos(100'000'000);
      response.mutable_rate_limit_info()->set_factor(random() % 2 == 0 ? 0.7 : 1.3);
    }
    if (!response.entries().empty() || response.has_rate_limit_info()) writer->Write(response);
    return breaks ? Broken() : Status::OK;
  }

  TabletState* const state_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDataService(TabletState* state) {
  return std::make_unique<DataService>(state);
}

}  // namespace tallyd::tablet
