// tallyd token: a new token, told this once, and the lines that make it one of a configuration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "ingest/text/json.h"
#include "tools/new_token.h"
#include "service/access/token_digest.h"
#include "tools/commands.h"

namespace tallyd {
namespace {

// A string of TOML is one of JSON.
std::string Quoted(const std::string& text) { return Dump(Json(text)); }

std::string RoleText(const std::vector<std::string>& roles) {
  if (roles.size() == 1) return Quoted(roles.front());
  std::string list;
  for (const std::string& role : roles) list += (list.empty() ? "" : ", ") + Quoted(role);
  return "[" + list + "]";
}

// "tenant=acme"; kInvalid where it is nothing like that.
Result<std::string> ScopeText(const std::vector<std::string>& scope) {
  std::string list;
  for (const std::string& one : scope) {
    const size_t equals = one.find('=');
    if (equals == 0 || equals == one.npos) {
      return Invalid("--scope: \"" + one + "\" is no FIELD=VALUE");
    }
    list += list.empty() ? "" : ", ";
    list += Quoted(one.substr(0, equals)) + " = " + Quoted(one.substr(equals + 1));
  }
  return "{ " + list + " }";
}

// Names are unique in a configuration: one that nobody chose is unlikely to be there. It is told
// in logs, so it is nothing of the token.
std::string MakeName(const std::vector<std::string>& roles) {
  return fmt::format("{}-{:04x}", fmt::join(roles, "-"), std::random_device()() & 0xffff);
}

// The section, which the reader of configurations takes, or says why it does not.
Result<std::string> SectionOf(const TokenLine& line, const std::string& sha256) {
  const std::string name = line.name.empty() ? MakeName(line.roles) : line.name;
  std::string section = "[[auth.tokens]]\n";
  section += "name    = " + Quoted(name) + "\n";
  section += "sha256  = " + Quoted(sha256) + "\n";
  section += "role    = " + RoleText(line.roles) + "\n";
  if (!line.scope.empty()) {
    const Result<std::string> scope = ScopeText(line.scope);
    if (!scope) return scope.error();
    section += "scope   = " + *scope + "\n";
  }
  if (!line.expires.empty()) section += "expires = " + Quoted(line.expires) + "\n";
  const Result<Config> taken = ParseConfig(section, "the token's section");
  if (!taken) return taken.error();
  return section;
}

}  // namespace

int TokenCommand(const CommandLine& line, const ToolHost&) {
  const Result<std::string> token = MakeToken();
  if (!token) return Refused("token", token.error());
  const std::string sha256 = HexOf(*DigestOf(*token));
  const Result<std::string> section = SectionOf(line.token, sha256);
  if (!section) {
    Refused("token", section.error());
    return kMisused;
  }
  if (line.format == "json") {
    std::printf("%s\n", Dump({{"token", *token}, {"sha256", sha256}}).c_str());
    return 0;
  }
  std::printf("token   %s\nsha256  %s\n\n", token->c_str(), sha256.c_str());
  std::printf(
      "The token is told this once: keep it where its owner alone reads it. These lines go into\n"
      "the configuration, and a reload (SIGHUP, POST /-/reload) puts them in force:\n\n%s",
      section->c_str());
  return 0;
}

}  // namespace tallyd
