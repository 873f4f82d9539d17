// The LevelDB engine does what any store must: with heads that fill within a test, and windows that
// cut between its times.
#include "tests/storage/conformance/conformance.h"

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class LevelDbHost final : public StoreHost {
 public:
  explicit LevelDbHost(uint64_t write_buffer, int64_t seal_window_us) {
    storage_ = TestStorage(dir_);
    storage_.write_buffer = write_buffer;
    storage_.seal_window_us = seal_window_us;
  }

  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    registry_ = std::make_unique<prometheus::Registry>();
    LevelDbStoreOptions options;
    options.storage = storage_;
    options.clock = &clock;
    options.registry = registry_.get();
    return OpenLevelDbStore(options);
  }

 private:
  const TempDir dir_;
  StorageConfig storage_;
  std::unique_ptr<prometheus::Registry> registry_;
};

StoreKind LevelDbWith(const char* name, uint64_t write_buffer, int64_t seal_window_us) {
  return {name, [=] { return std::make_unique<LevelDbHost>(write_buffer, seal_window_us); }};
}

INSTANTIATE_TEST_SUITE_P(LevelDb, Conformance,
                         ::testing::Values(LevelDbWith("LevelDb", 256u << 10, kUsPerDay),
                                           LevelDbWith("LevelDbOfSmallHeads", 2u << 10, 3)),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace tallyd
