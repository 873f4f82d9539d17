// Conformance: what any Store must do (storage/store.h), by subject in the files of this folder, as
// tests that run over every kind of store. Each kind is instantiated once, in the test of its
// engine:
//
//   INSTANTIATE_TEST_SUITE_P(MyStore, Conformance, ::testing::Values(StoreKind{"MyStore", ...}));
//
// A test knows nothing of the store but the interface. It begins with an open store that has
// adopted Plain(): the tables H (history), L (latest cells) and R (latest rows), all empty.
#ifndef TALLYD_TESTS_STORAGE_CONFORMANCE_CONFORMANCE_H_
#define TALLYD_TESTS_STORAGE_CONFORMANCE_CONFORMANCE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "tests/storage/store_verbs.h"

namespace tallyd {

// Where a store keeps what it keeps, and how one is opened there. Empty at first.
class StoreHost {
 public:
  virtual ~StoreHost() = default;
  // A store with all that the last one on this host kept, which is gone. `clock` outlives it.
  virtual Result<std::unique_ptr<Store>> Open(const Clock& clock) = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreHost>()> make_host;

  friend void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
};

// Skips what needs a capability that the store tells it has not.
#define NEEDS_CAPABILITY(name)                                         \
  if (!store().capabilities().name) {                                  \
    GTEST_SKIP() << store().capabilities().engine << " has no " #name; \
  }

class Conformance : public ::testing::TestWithParam<StoreKind>, public StoreVerbs {
 public:
  static Schema Plain();

  Conformance();
  ~Conformance() override;

  Store& store() override { return *store_; }

  // Opens, closing what is open, and adopts what was adopted last.
  void Reopen();
  Status Adopt(const Schema& schema);
  // H with these rules for its families A and B.
  void AdoptRules(const Family& a, const Family& b = {});
  void Settle();  // Nothing, where nothing waits.

  // Writes value 1 to A:x of these rows, at this time.
  void WriteRows(const std::string& table, const std::vector<std::string>& rows, TimeUs time = 5);
  // The keys that a scan returns, in its order.
  std::vector<std::string> Keys(const std::string& table, const ScanSpec& spec);

 protected:
  void SetUp() override;

 private:
  const std::unique_ptr<StoreHost> host_;
  std::unique_ptr<Store> store_;
  Schema adopted_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_CONFORMANCE_CONFORMANCE_H_
