#include "tests/storage/conformance/conformance.h"

namespace tallyd {

Schema Conformance::Plain() {
  return MakeSchema(
      {MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("R", Pattern::kLatest, true)});
}

Conformance::Conformance() : host_(GetParam().make_host()) {}

Conformance::~Conformance() = default;

void Conformance::SetUp() {
  adopted_ = Plain();
  Reopen();
}

void Conformance::Reopen() {
  store_.reset();
  Result<std::unique_ptr<Store>> opened = host_->Open(clock);
  ASSERT_TRUE(opened) << opened.error().message();
  store_ = std::move(*opened);
  const Status adopted = store_->Adopt(adopted_);
  ASSERT_TRUE(adopted) << adopted.error().message();
}

Status Conformance::Adopt(const Schema& schema) {
  Status adopted = store_->Adopt(schema);
  if (adopted) adopted_ = schema;
  return adopted;
}

void Conformance::AdoptRules(const Family& a, const Family& b) {
  Schema schema = Plain();
  std::vector<Family>& families = schema.tables[0].families;
  families = {a, b};
  families[0].name = "A";
  families[1].name = "B";
  const Status adopted = Adopt(schema);
  ASSERT_TRUE(adopted) << adopted.error().message();
}

void Conformance::Settle() {
  if (store_->capabilities().settling == nullptr) return;
  const Status settled = store_->Settle();
  EXPECT_TRUE(settled) << settled.error().message();
}

void Conformance::WriteRows(const std::string& table, const std::vector<std::string>& rows,
                            TimeUs time) {
  auto batch = NewBatch();
  for (const std::string& row : rows) {
    Put(batch.get(), table, row, time, {{"A", "x", Value::Int(1)}});
  }
  const Status committed = Commit(std::move(batch));
  ASSERT_TRUE(committed) << committed.error().message();
}

std::vector<std::string> Conformance::Keys(const std::string& table, const ScanSpec& spec) {
  std::vector<std::string> keys;
  for (const auto& [key, cells] : Read(table, spec)) keys.push_back(key);
  return keys;
}

}  // namespace tallyd
