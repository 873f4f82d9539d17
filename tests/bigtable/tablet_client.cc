#include "tests/bigtable/tablet_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>

#include "storage/bigtable/proto/bigtable_admin.grpc.pb.h"
#include "storage/bigtable/proto/bigtable_data.grpc.pb.h"

namespace tallyd::tablet {
namespace {

// Puts rows together from chunks.
class RowsOfChunks {
 public:
  void Take(const v2::ReadRowsResponse::CellChunk& chunk) {
    if (chunk.reset_row()) {
      EXPECT_FALSE(row_.empty());
      pending_.clear();
      row_ = value_ = "";
      return;
    }
    if (row_.empty()) row_ = chunk.row_key();
    EXPECT_FALSE(row_.empty());
    if (chunk.has_family_name()) family_ = chunk.family_name().value();
    if (chunk.has_qualifier()) qualifier_ = chunk.qualifier().value();
    if (value_.empty()) time_us_ = chunk.timestamp_micros();
    value_ += chunk.value();
    if (chunk.value_size() > 0) return;
    std::string cell = row_;
    cell += " " + family_ + ":" + qualifier_ + "@" + std::to_string(time_us_) + "=" + value_;
    for (const std::string& label : chunk.labels()) cell += " " + label;
    pending_.push_back(std::move(cell));
    value_.clear();
    if (chunk.commit_row()) Commit();
  }

  bool InRow() const { return !row_.empty(); }
  std::vector<std::string>& cells() { return cells_; }

 private:
  void Commit() {
    EXPECT_NE(row_, last_row_);
    last_row_ = std::move(row_);
    row_.clear();
    cells_.insert(cells_.end(), pending_.begin(), pending_.end());
    pending_.clear();
  }

  std::vector<std::string> cells_, pending_;
  std::string row_, family_, qualifier_, value_, last_row_;
  int64_t time_us_ = 0;
};

}  // namespace

v2::Mutation Set(const std::string& family, const std::string& qualifier, int64_t time_us,
                 const std::string& value) {
  v2::Mutation mutation;
  mutation.mutable_set_cell()->set_family_name(family);
  mutation.mutable_set_cell()->set_column_qualifier(qualifier);
  mutation.mutable_set_cell()->set_timestamp_micros(time_us);
  mutation.mutable_set_cell()->set_value(value);
  return mutation;
}

v2::Mutation Add(const std::string& family, int64_t time_us, int64_t input) {
  v2::Mutation mutation;
  v2::Mutation::AddToCell& add = *mutation.mutable_add_to_cell();
  add.set_family_name(family);
  add.mutable_column_qualifier()->set_raw_value("n");
  add.mutable_timestamp()->set_raw_timestamp_micros(time_us);
  add.mutable_input()->set_int_value(input);
  return mutation;
}

class TabletClient::Stubs {
 public:
  explicit Stubs(const std::string& address)
      : Stubs(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {}
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : data(v2::Bigtable::NewStub(channel)), admin(admin::BigtableTableAdmin::NewStub(channel)) {}

  const std::unique_ptr<v2::Bigtable::Stub> data;
  const std::unique_ptr<admin::BigtableTableAdmin::Stub> admin;
};

TabletClient::TabletClient(const std::string& address) : stubs_(std::make_unique<Stubs>(address)) {}

TabletClient::~TabletClient() = default;

grpc::Status TabletClient::CreateTable(const admin::CreateTableRequest& request) {
  grpc::ClientContext context;
  admin::Table table;
  return stubs_->admin->CreateTable(&context, request, &table);
}

grpc::Status TabletClient::ModifyColumnFamilies(const std::string& request) {
  auto asked = Parse<admin::ModifyColumnFamiliesRequest>(request);
  asked.set_name(kTable);
  grpc::ClientContext context;
  admin::Table table;
  return stubs_->admin->ModifyColumnFamilies(&context, asked, &table);
}

grpc::Status TabletClient::DropPrefix(const std::string& prefix) {
  admin::DropRowRangeRequest request;
  request.set_name(kTable);
  request.set_row_key_prefix(prefix);
  grpc::ClientContext context;
  google::protobuf::Empty empty;
  return stubs_->admin->DropRowRange(&context, request, &empty);
}

grpc::Status TabletClient::Mutate(const std::string& row,
                                  const std::vector<v2::Mutation>& mutations,
                                  const std::string& token) {
  v2::MutateRowRequest request;
  request.set_table_name(kTable);
  request.set_row_key(row);
  for (const v2::Mutation& one : mutations) *request.add_mutations() = one;
  if (!token.empty()) request.mutable_idempotency()->set_token(token);
  grpc::ClientContext context;
  v2::MutateRowResponse response;
  return stubs_->data->MutateRow(&context, request, &response);
}

std::vector<int> TabletClient::WriteRows(const std::vector<std::string>& rows,
                                         grpc::Status* status) {
  v2::MutateRowsRequest request;
  request.set_table_name(kTable);
  for (const std::string& row : rows) {
    request.add_entries()->set_row_key(row);
    *request.mutable_entries()->rbegin()->add_mutations() = Set("A", "q", 1000, row);
  }
  grpc::ClientContext context;
  const auto reader = stubs_->data->MutateRows(&context, request);
  std::vector<int> codes(rows.size(), -1);
  for (v2::MutateRowsResponse response; reader->Read(&response);) {
    for (const auto& entry : response.entries()) {
      codes[static_cast<size_t>(entry.index())] = entry.status().code();
    }
  }
  *status = reader->Finish();
  return codes;
}

grpc::Status TabletClient::CheckAndMutate(const v2::CheckAndMutateRowRequest& request,
                                          bool* matched) {
  grpc::ClientContext context;
  v2::CheckAndMutateRowResponse response;
  const grpc::Status status = stubs_->data->CheckAndMutateRow(&context, request, &response);
  *matched = response.predicate_matched();
  return status;
}

grpc::Status TabletClient::ReadModifyWrite(const v2::ReadModifyWriteRowRequest& request,
                                           v2::Row* row) {
  grpc::ClientContext context;
  v2::ReadModifyWriteRowResponse response;
  const grpc::Status status = stubs_->data->ReadModifyWriteRow(&context, request, &response);
  *row = response.row();
  return status;
}

std::vector<std::pair<std::string, int64_t>> TabletClient::Samples() {
  v2::SampleRowKeysRequest request;
  request.set_table_name(kTable);
  grpc::ClientContext context;
  const auto reader = stubs_->data->SampleRowKeys(&context, request);
  std::vector<std::pair<std::string, int64_t>> samples;
  for (v2::SampleRowKeysResponse response; reader->Read(&response);) {
    samples.emplace_back(response.row_key(), response.offset_bytes());
  }
  EXPECT_TRUE(reader->Finish().ok());
  return samples;
}

grpc::Status TabletClient::Await() {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v2::PingAndWarmResponse pong;
  return stubs_->data->PingAndWarm(&context, {}, &pong);
}

std::vector<std::string> TabletClient::Read(v2::ReadRowsRequest request, grpc::Status* status,
                                            bool tells_features) {
  request.set_table_name(kTable);
  grpc::ClientContext context;
  // Reverse scans, and rows that were scanned.
  if (tells_features) context.AddMetadata("bigtable-features", "CAEgAQ==");
  context.AddMetadata("x-goog-request-params", "table_name=T");
  const auto reader = stubs_->data->ReadRows(&context, request);
  RowsOfChunks rows;
  for (v2::ReadRowsResponse response; reader->Read(&response);) {
    for (const auto& chunk : response.chunks()) rows.Take(chunk);
  }
  const grpc::Status finished = reader->Finish();
  if (status != nullptr) {
    *status = finished;
  } else {
    EXPECT_TRUE(finished.ok()) << finished.error_message();
    EXPECT_FALSE(rows.InRow()) << "the stream ended within a row";
  }
  return std::move(rows.cells());
}

}  // namespace tallyd::tablet
