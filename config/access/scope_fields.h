// ScopeFields: which fields the scopes of tokens name. What judges a schema knows this of the
// tokens, and nothing else: no names, hashes or values. Pure.
#ifndef TALLYD_CONFIG_ACCESS_SCOPE_FIELDS_H_
#define TALLYD_CONFIG_ACCESS_SCOPE_FIELDS_H_

#include <set>
#include <string>
#include <vector>

#include "config/access/token_config.h"

namespace tallyd {

using ScopeFields = std::set<std::string>;

inline ScopeFields ScopeFieldsOf(const std::vector<TokenConfig>& tokens) {
  ScopeFields fields;
  for (const TokenConfig& token : tokens) {
    for (const auto& [field, value] : token.scope) fields.insert(field);
  }
  return fields;
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ACCESS_SCOPE_FIELDS_H_
