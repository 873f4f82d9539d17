// TabletServer: Cloud Bigtable's data and table administration over gRPC, in memory, for tests:
// what Google's emulator lacks beside what it has (aggregates, reverse scans, atomic rows, limits,
// idempotency tokens, tablets), and on request all that goes wrong on the way (faults.h).
//
//   TabletServer server;               // It serves on a free port of loopback.
//   server.faults().Set(FaultRates::All(0.05));
//   ... emulator = server.address() ...
//
// Its tables live as long as it does, through Stop and Start. Thread-safe but for these two.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_TABLET_SERVER_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_TABLET_SERVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bigtable/tablet/faults.h"

namespace tallyd::tablet {

struct TabletServerOptions {
  std::string listen = "127.0.0.1:0";
  unsigned seed = 1;
  int64_t granularity_us = 1000;  // Of tables that ask for none; or 1.
};

class TabletServer {
 public:
  explicit TabletServer(const TabletServerOptions& options = {});
  ~TabletServer();
  TabletServer(const TabletServer&) = delete;
  TabletServer& operator=(const TabletServer&) = delete;

  // "" where it could not listen.
  std::string address() const;
  Faults& faults();

  // Breaks what is under way, and is not there until Start, which takes the same port.
  void Stop();
  bool Start();

  // Removes what the families' rules do not keep at that time, as the service does sooner or later.
  void CollectGarbage(int64_t now_us);
  // Cuts tablets of more rows than that.
  void SplitTablets(size_t rows_max);
  // Its clock goes on by that.
  void PassUs(int64_t us);
  // How many rows lie in a table, by its full name.
  size_t RowsOf(const std::string& table) const;
  // Of a table, nothing where there is none: row key, family, qualifier and the newest value.
  using Cell = std::array<std::string, 4>;
  std::optional<std::vector<Cell>> CellsOf(const std::string& table) const;
  // As somebody does with other means: the family keeps so many. False: there is none.
  bool KeepVersions(const std::string& table, const std::string& family, int versions);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_TABLET_SERVER_H_
