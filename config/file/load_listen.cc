// server.listen: one address, or a list of them, of which each may speak TLS.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/exposure.h"
#include "config/file/load.h"

namespace tallyd {
namespace {

constexpr std::string_view kAcceptedAddress =
    "HOST:PORT, as \"127.0.0.1:8780\" or \"[::1]:8780\"; port 0 takes a free one";

bool IsNoListenAddress(const TomlReader& reader, std::string_view key, const std::string& at) {
  if (IsListenAddress(at)) return false;
  reader.Mistake(key,
                 "\"" + at + "\" is no address; accepted: " + std::string(kAcceptedAddress));
  return true;
}

}  // namespace

bool ReadListen(TomlReader* server, std::string_view key, std::vector<ListenAddress>* listen) {
  if (!server->Has(key)) {
    std::string absent;
    return server->String(key, &absent);  // The key is known.
  }
  if (server->IsString(key)) {
    std::string at;
    server->String(key, &at);
    if (IsNoListenAddress(*server, key, at)) return false;
    *listen = {{at, false}};
    return true;
  }
  std::vector<ListenAddress> addresses;
  for (TomlReader& one : server->TablesOf(key)) {
    ListenAddress address;
    if (!one.Has("at")) one.Mistake("at", "is missing; accepted: " + std::string(kAcceptedAddress));
    if (one.String("at", &address.at)) IsNoListenAddress(one, "at", address.at);
    one.Bool("tls", &address.tls);
    one.Finish();
    const bool is_twice = std::ranges::count(addresses, address.at, &ListenAddress::at) > 0;
    if (is_twice && !address.at.ends_with(":0")) {
      one.Mistake("at", "\"" + address.at + "\" is there already; accepted: each address once");
    }
    addresses.push_back(std::move(address));
  }
  if (server->IsEmptyArray(key)) {
    server->Mistake(key, "is empty; accepted: one address, or an array of { at = \"HOST:PORT\" }");
  }
  if (addresses.empty() || server->AnyMistakes()) return false;
  *listen = std::move(addresses);
  return true;
}

}  // namespace tallyd
