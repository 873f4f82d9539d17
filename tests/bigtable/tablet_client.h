// TabletClient: asks a server that speaks Bigtable's API what tests want to know, in their words.
// What breaks the rules of the protocol fails the test. Thread-safe.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_CLIENT_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_CLIENT_H_

#include <google/protobuf/text_format.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

inline constexpr char kParent[] = "projects/p/instances/i";
inline constexpr char kTable[] = "projects/p/instances/i/tables/T";

template <class Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

v2::Mutation Set(const std::string& family, const std::string& qualifier, int64_t time_us,
                 const std::string& value);
v2::Mutation Add(const std::string& family, int64_t time_us, int64_t input);  // To column n.

class TabletClient {
 public:
  explicit TabletClient(const std::string& address);
  ~TabletClient();

  grpc::Status CreateTable(const admin::CreateTableRequest& request);
  grpc::Status ModifyColumnFamilies(const std::string& request);
  grpc::Status DropPrefix(const std::string& prefix);

  // Of table T, each by one call.
  grpc::Status Mutate(const std::string& row, const std::vector<v2::Mutation>& mutations,
                      const std::string& token = "");
  grpc::Status Mutate(const std::string& row, const std::string& mutation) {
    return Mutate(row, {Parse<v2::Mutation>(mutation)});
  }
  // A cell A:q@1000 in each of these rows; the entries' codes, -1 where none came.
  std::vector<int> WriteRows(const std::vector<std::string>& rows, grpc::Status* status);
  grpc::Status CheckAndMutate(const v2::CheckAndMutateRowRequest& request, bool* matched);
  grpc::Status ReadModifyWrite(const v2::ReadModifyWriteRowRequest& request, v2::Row* row);
  // Keys and the bytes before them.
  std::vector<std::pair<std::string, int64_t>> Samples();
  grpc::Status Await();  // Until the server is there, for some seconds at most.

  // "row A:q@1000=value label" of each cell, put together from chunks as a client has to. Fails the
  // test where the stream ends badly, unless the status is asked for.
  std::vector<std::string> Read(v2::ReadRowsRequest request, grpc::Status* status = nullptr,
                                bool tells_features = true);
  std::vector<std::string> Read(const std::string& request, grpc::Status* status = nullptr) {
    return Read(Parse<v2::ReadRowsRequest>(request), status);
  }

 private:
  class Stubs;
  const std::unique_ptr<Stubs> stubs_;
};

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_CLIENT_H_
