// [[auth.tokens]]: who may do what. No mistake shows what the file has for a hash: where it is
// wrong it may be the token itself.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/load.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

constexpr size_t kSha256Digits = 64;

std::string RoleNames() {
  std::vector<std::string> names;
  for (const Role role : kRoles) names.emplace_back(RoleName(role));
  return Listed(names);
}

// An unknown role is not shown: it may be a token that stands in the wrong line.
void ReadRoles(TomlReader* reader, Roles* roles) {
  std::vector<std::string> names;
  if (!reader->Has("role")) {
    reader->Mistake("role", "is missing; accepted: one of " + RoleNames() + ", or a list of them");
  }
  if (!reader->StringOrStrings("role", &names)) return;
  if (names.empty()) {
    reader->Mistake("role", "is an empty list; accepted: one of " + RoleNames() +
                                ", or a list of them");
  }
  for (const std::string& name : names) {
    const auto* const role = std::ranges::find(kRoles, name, RoleName);
    if (role != std::end(kRoles)) {
      roles->Add(*role);
    } else {
      reader->Mistake("role", "names a role that there is not; accepted: " + RoleNames());
    }
  }
}

void ReadScope(TomlReader* reader, TokenConfig* token) {
  for (TomlReader& scope : reader->Table("scope")) {
    bool has_members = false;
    for (const auto& [field, value] : scope.StringMembers()) {
      has_members = true;
      if (field.empty()) scope.Mistake("has a field without a name; accepted: FIELD = \"VALUE\"");
      if (value.empty()) scope.Mistake(field, "is empty; accepted: the value that the field has");
      token->scope.emplace(field, value);
    }
    if (!has_members && !reader->AnyMistakes()) {
      scope.Mistake(
          "is empty, and would bound nothing; accepted: FIELD = \"VALUE\", one or several that "
          "must all hold, or no scope");
    }
  }
}

TokenConfig ReadToken(TomlReader reader) {
  TokenConfig token;
  ReadKeys(&reader, &token);
  for (const std::string_view key : {"name", "sha256"}) {
    if (!reader.Has(key)) reader.Mistake(key, "is missing; `tallyd token` prints both lines");
  }
  ReadRoles(&reader, &token.roles);
  ReadScope(&reader, &token);
  reader.Finish();
  return token;
}

// A name says who it was, and a hash who it is: each stands for one token.
void CheckUnique(const std::vector<TokenConfig>& tokens, const std::vector<TomlReader>& readers) {
  std::set<std::string_view> names;
  std::map<std::string_view, std::string_view> owners;  // By hash.
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenConfig& token = tokens[i];
    if (!token.name.empty() && !names.insert(token.name).second) {
      readers[i].Mistake("name", "\"" + token.name +
                                     "\" is another token's name already; accepted: one that no "
                                     "other token has");
    }
    const auto [owner, is_new] = owners.emplace(token.sha256, token.name);
    if (!token.sha256.empty() && !is_new) {
      readers[i].Mistake("sha256", "is that of the token \"" + std::string(owner->second) +
                                       "\" already; accepted: one that no other token has");
    }
  }
}

}  // namespace

void CheckTokenName(const TomlReader& token, TokenConfig* filled) {
  if (filled->name.starts_with(kTokenStart)) {
    filled->name.clear();
    token.Mistake("name",
                  "begins as a token does, and names are logged; accepted: who has the token, as "
                  "\"acme-reader\"");
    return;
  }
  const std::string wrong = NameMistake(filled->name, "token", kMaxTokenNameBytes);
  if (!wrong.empty()) token.Mistake("name", wrong);
}

void CheckTokenHash(const TomlReader& token, TokenConfig* filled) {
  const bool is_hash =
      filled->sha256.size() == kSha256Digits &&
      std::ranges::all_of(filled->sha256, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (is_hash) return;
  filled->sha256.clear();
  token.Mistake("sha256",
                "is no SHA-256 of a token; accepted: 64 lowercase hexadecimal digits, as `tallyd "
                "token` prints them");
}

std::vector<TokenConfig> ReadTokens(TomlReader auth) {
  std::vector<TokenConfig> tokens;
  std::vector<TomlReader> readers = auth.TablesOf("tokens");
  for (const TomlReader& reader : readers) tokens.push_back(ReadToken(reader));
  CheckUnique(tokens, readers);
  auth.Finish();
  // Who wrote the section meant to bound something; nobody is let in by what it lacks.
  if (!auth.Has("tokens") || auth.IsEmptyArray("tokens")) {
    auth.Mistake(
        "holds no token, and would let anybody do everything; accepted: [[auth.tokens]] sections, "
        "or none of [auth]");
  }
  return tokens;
}

}  // namespace tallyd
