// Role: what somebody may do, as a token of the configuration gives it and a route asks for it.
#ifndef TALLYD_CONFIG_ACCESS_ROLE_H_
#define TALLYD_CONFIG_ACCESS_ROLE_H_

#include <cstdint>
#include <initializer_list>
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
    for (const Role role : roles) Add(role);
  }

  constexpr void Add(Role role) { bits_ |= Bit(role); }
  // Whoever has admin has all.
  constexpr bool Have(Role role) const { return (bits_ & (Bit(role) | Bit(Role::kAdmin))) != 0; }
  friend constexpr bool operator==(const Roles&, const Roles&) = default;

 private:
  static constexpr unsigned Bit(Role role) { return 1u << static_cast<unsigned>(role); }

  unsigned bits_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ACCESS_ROLE_H_
