// What requests, their heads and bodies, may hold while they come in and until they are let go of:
// together server.body_memory, each token half of it where there are several, all who have none a
// quarter where there are any, each connection one body of server.max_body. BodyCharge is the part
// of one connection.
//
//   charge.BeginFor(nullptr);                   // A request begins: nobody knows whose it is.
//   charge.BeginFor(request.principal);         // Its head says whose.
//   if (!charge.Admits(declared)) ...           // It would not fit now: before it is asked for.
//   if (!charge.Covers(body.size())) ...        // For each piece, before room is made for it.
//   charge.Clear();                             // The body is let go of.
//
// What counts is what has come, not what was promised: a sender that declares much and sends
// nothing takes no room from others. What is small does not count, so that it is taken even when
// large bodies hold everything; its number is that of the connections. What a batch takes behind
// its body, in the queue of the store, is bounded there (storage.queue_bytes).
//
// The budget is thread-safe and outlives the charges, of which each is of one connection's thread.
#ifndef TALLYD_SERVICE_LIMITS_BODY_BUDGET_H_
#define TALLYD_SERVICE_LIMITS_BODY_BUDGET_H_

#include <cstdint>
#include <utility>

#include "config/values/result.h"
#include "service/limits/shared_bytes.h"
#include "service/principal.h"

namespace tallyd {

class BodyBudget : public SharedBytes {
 public:
  using SharedBytes::SharedBytes;
};

class BodyCharge {
 public:
  // Beyond so many bytes what a connection holds counts, all of it.
  static constexpr uint64_t kUncounted = 16u << 10;

  BodyCharge() = default;  // Nothing is counted, everything is covered.
  explicit BodyCharge(BodyBudget* budget) : budget_(budget) {}
  ~BodyCharge() { Clear(); }
  BodyCharge(const BodyCharge&) = delete;
  BodyCharge& operator=(const BodyCharge&) = delete;

  // Whose request it is, until that is said anew; null: nobody's that is known, as before it was
  // said first. What was charged before is let go of.
  void BeginFor(PrincipalPtr principal);
  // Whether so much, in all, would find room now. It may not when it comes.
  bool Admits(uint64_t bytes);
  // Whether the connection may hold so many bytes in all.
  bool Covers(uint64_t bytes) {
    return bytes <= charged_ || bytes <= kUncounted || budget_ == nullptr || Grow(bytes);
  }
  void Clear();

  // Why so many bytes have no room, and when to try again. Of a principal that holds its own half
  // already kThrottled: others are taken. Else kOverloaded.
  Error Refusal(uint64_t bytes);

 private:
  bool Grow(uint64_t bytes);
  SharedBytes::Share* share();

  BodyBudget* budget_ = nullptr;
  PrincipalPtr principal_;
  // Looked for once it is needed: most requests are so small that they are not counted.
  SharedBytes::SharePtr share_;
  bool has_share_ = false;
  uint64_t charged_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_BODY_BUDGET_H_
