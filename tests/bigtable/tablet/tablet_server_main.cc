// tablet_server [--listen HOST:PORT] [--seed N]: the tablet server as a process of its own, until
// its standard input ends. It prints its address. Lines that it reads, each answered by one line:
//
//   faults CHANCE    what goes wrong by chance goes wrong at about this chance; 0: nothing does
//   latency US       each call takes that much longer
//   stop, start      it is away, or there again
//   collect          garbage is collected, as of now
//   split ROWS       tablets of more rows than that are cut
//   calls            what was called how often since the last such line, as JSON
//   cells TABLE      the newest cells of the table of that full name, as JSON: lists of row key,
//                    family, qualifier and value; null where there is no such table
//   versions TABLE FAMILY N   the family's rule is to keep so many, as though somebody had set it
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/bigtable/tablet/tablet_server.h"

namespace tallyd::tablet {
namespace {

std::string CallsOf(TabletServer* server) {
  std::ostringstream json;
  const char* comma = "";
  json << "{";
  for (const auto& [what, count] : server->faults().Calls()) {
    json << comma << "\"" << what << "\": " << count;
    comma = ", ";
  }
  json << "}";
  server->faults().Forget();
  return json.str();
}

std::string CellsOf(const TabletServer& server, const std::string& table) {
  const auto cells = server.CellsOf(table);
  return cells ? nlohmann::json(*cells).dump() : "null";
}

std::string ObeyOfTable(TabletServer* server, const std::string& verb, std::istream& words) {
  std::string table;
  std::string family;
  int versions = 0;
  words >> table;
  if (verb == "cells") return CellsOf(*server, table);
  words >> family >> versions;
  return server->KeepVersions(table, family, versions) ? "ok" : "unknown: " + table;
}

std::string Obey(TabletServer* server, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  double number = 0;
  words >> verb;
  if (verb == "cells" || verb == "versions") return ObeyOfTable(server, verb, words);
  words >> number;
  FaultRates rates = server->faults().rates();
  if (verb == "faults") {
    const auto latency = rates.latency;
    rates = number > 0 ? FaultRates::All(number) : FaultRates();
    rates.collections = number / 4;
    rates.latency = latency;
    server->faults().Set(rates);
  } else if (verb == "latency") {
    rates.latency = std::chrono::microseconds(static_cast<int64_t>(number));
    server->faults().Set(rates);
  } else if (verb == "stop") {
    server->Stop();
  } else if (verb == "start") {
    if (!server->Start()) return "the port is taken";
  } else if (verb == "collect") {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    server->CollectGarbage(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  } else if (verb == "split") {
    server->SplitTablets(static_cast<size_t>(number));
  } else if (verb == "calls") {
    return CallsOf(server);
  } else {
    return "unknown: " + verb;
  }
  return "ok";
}

int Run(int count, char** arguments) {
  TabletServerOptions options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--listen") options.listen = arguments[i + 1];
    if (name == "--seed") options.seed = static_cast<unsigned>(std::atoi(arguments[i + 1]));
  }
  std::signal(SIGPIPE, SIG_IGN);
  TabletServer server(options);
  if (server.address().empty()) {
    std::cerr << "cannot listen on " << options.listen << std::endl;
    return 1;
  }
  std::cout << server.address() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Obey(&server, line) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tallyd::tablet

int main(int count, char** arguments) { return tallyd::tablet::Run(count, arguments); }
