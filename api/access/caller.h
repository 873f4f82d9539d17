// Caller: who asks on one connection. It keeps what the last good credentials were, so that a
// connection that is used again pays a comparison for each request and not a digest. Touched on the
// connection's I/O thread only.
#ifndef TALLYD_API_ACCESS_CALLER_H_
#define TALLYD_API_ACCESS_CALLER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "service/access/live_tokens.h"
#include "service/principal.h"

namespace tallyd {

class Caller {
 public:
  Caller() = default;
  ~Caller() { Forget(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Whose the Authorization header is. Null: nobody's; it is unknown, malformed or expired.
  PrincipalPtr Identify(const LiveTokens& tokens, std::string_view authorization, TimeUs now);

 private:
  // Longer ones are looked up each time.
  static constexpr size_t kMaxKeptBytes = 512;

  bool Knows(std::string_view authorization) const;
  void Forget();

  std::string authorization_;  // The last good one.
  PrincipalPtr principal_;     // Whose it was.
  uint64_t generation_ = 0;    // Of the tokens then.
};

}  // namespace tallyd

#endif  // TALLYD_API_ACCESS_CALLER_H_
