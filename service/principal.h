// Principal: who asks, and what it may. The session gives one to every request, and a route is
// reached only by a principal that has the role which the route asks for. Immutable once it is
// given out; whoever works for it longer than a call holds it.
//
// Without tokens everybody is Anybody(), who may everything.
#ifndef TALLYD_SERVICE_PRINCIPAL_H_
#define TALLYD_SERVICE_PRINCIPAL_H_

#include <limits>
#include <map>
#include <memory>
#include <string>

#include "config/access/role.h"
#include "config/values/time.h"

namespace tallyd {

struct Principal {
  std::string name;  // Of its token. Empty: nobody said who it is.
  Roles roles;
  // Only rows and events whose fields have these values, compared as text. Empty: all of them.
  std::map<std::string, std::string> scope;
  // From then on it is nobody.
  TimeUs expires = std::numeric_limits<TimeUs>::max();

  bool is_scoped() const { return !scope.empty(); }
};

using PrincipalPtr = std::shared_ptr<const Principal>;

inline PrincipalPtr Anybody() {
  static const Principal anybody{"", {Role::kAdmin}, {}};
  return {PrincipalPtr(), &anybody};  // Nobody counts who holds it: it is never destroyed before.
}

// Whoever asks from within: the jobs that run behind everything else.
inline PrincipalPtr TheDaemon() {
  static const Principal daemon{"tallyd", {Role::kAdmin}, {}};
  return {PrincipalPtr(), &daemon};
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_PRINCIPAL_H_
