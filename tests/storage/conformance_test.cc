// What every store must do is in tests/storage/conformance/, by subject. Each engine has it run
// over its stores in its own conformance_test.cc; here the model does, and the double of a remote
// one.
#include "tests/storage/conformance/conformance.h"

#include "tests/storage/model_store.h"
#include "tests/storage/remote_double.h"

namespace tallyd {
namespace {

class ModelHost final : public StoreHost {
 public:
  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    return std::unique_ptr<Store>(std::make_unique<ModelStore>(&disk_, &clock));
  }

 private:
  ModelDisk disk_;
};

class RemoteHost final : public StoreHost {
 public:
  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    return std::unique_ptr<Store>(std::make_unique<RemoteDouble>(&disk_, &clock));
  }

 private:
  ModelDisk disk_;
};

const StoreKind kModel = {"Model", [] { return std::make_unique<ModelHost>(); }};
INSTANTIATE_TEST_SUITE_P(Model, Conformance, ::testing::Values(kModel));
const StoreKind kRemote = {"Remote", [] { return std::make_unique<RemoteHost>(); }};
INSTANTIATE_TEST_SUITE_P(Remote, Conformance, ::testing::Values(kRemote));

}  // namespace
}  // namespace tallyd
