// Principal: who asks, and what it may. The session gives one to every request, and a route is
// reached only by a principal that has the role which the route asks for. Immutable once it is
// given out; whoever works for it longer than a call holds it.
//
// Without tokens everybody is Anybody(), who may everything.
#ifndef TALLYD_SERVICE_PRINCIPAL_H_
#define TALLYD_SERVICE_PRINCIPAL_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tallyd {

enum class Role : uint8_t { kRead, kWrite, kDelete, kMetrics, kAdmin };
inline constexpr Role kRoles[] = {Role::kRead, Role::kWrite, Role::kDelete, Role::kMetrics,
                                  Role::kAdmin};

// As configuration and errors spell it.
constexpr std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kRead:
      return "read";
    case Role::kWrite:
      return "write";
    case Role::kDelete:
      return "delete";
    case Role::kMetrics:
      return "metrics";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

class Roles {
 public:
  constexpr Roles() = default;  // None.
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= Bit(role);
  }

  // Whoever has admin has all.
  constexpr bool Have(Role role) const { return (bits_ & (Bit(role) | Bit(Role::kAdmin))) != 0; }

 private:
  static constexpr unsigned Bit(Role role) { return 1u << static_cast<unsigned>(role); }

  unsigned bits_ = 0;
};

struct Principal {
  std::string name;  // Empty: nobody said who it is.
  Roles roles;
  // Only rows and events whose fields have these values, compared as text. Empty: all of them.
  std::map<std::string, std::string> scope;
};

using PrincipalPtr = std::shared_ptr<const Principal>;

inline PrincipalPtr Anybody() {
  static const Principal anybody{"", {Role::kAdmin}, {}};
  return {PrincipalPtr(), &anybody};  // Nobody counts who holds it: it is never destroyed before.
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_PRINCIPAL_H_
