// An answer as handlers give it: whole, or a source of chunks that the session pulls while the
// client takes them.
#ifndef TALLYD_API_RESPONSE_H_
#define TALLYD_API_RESPONSE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "service/limits/pages.h"
#include "service/limits/query_memory.h"

namespace tallyd {

// What a pull has come to. What it appended goes out in any case.
enum class Pulled : uint8_t {
  kMore,   // The next chunk can be pulled at once.
  kEnd,    // Nothing follows.
  kWaits,  // There is nothing to give for now: whoever pulls is woken when there is.
};
constexpr Pulled MoreIf(bool more) { return more ? Pulled::kMore : Pulled::kEnd; }

// Has whoever pulls do so again. From any thread, also within the pull that it was given to, more
// than once, too late, and after its source has gone: then it does nothing, or little.
using Wake = std::function<void()>;

// What follows of an answer, pulled a chunk at a time while the client takes them. It ends, by its
// destructor, when all is given, when the client has left (while it waits: when the client has
// closed its side), or when the server stops. What it holds counts in the request's memory
// (service/limits/query_memory.h).
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // On a query thread, one call at a time. Appends about kChunkBytes to *chunk, or what there is.
  // No thread is held between the calls: a source that waits says so, and calls `wake`, of which it
  // keeps the newest, once it has something. An empty one is nobody's: whoever gave it pulls again.
  // An error after the first chunk cuts the connection: the client sees a truncated answer, never a
  // wrong one.
  virtual Result<Pulled> Pull(std::string* chunk, const Wake& wake) = 0;
  // Whoever takes the answer is slow, or there is no room for what the next chunk takes: lets go of
  // what it can find again. Between pulls, and after one that failed for lack of room
  // (ReadMemory::lacks_room), which then may be tried again.
  virtual void Release() {}
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;                      // All of it, or its beginning ...
  std::unique_ptr<AnswerSource> source;  // ... where this gives what follows.
  std::string problem;                   // A problem's detail, for the log.
  MemoryCharge held;                     // Of a body that is large, for as long as it is kept.

  // An answer of a value; and one of text that a writer of its own has made JSON already.
  static Response Of(unsigned status, const nlohmann::ordered_json& answer);
  static Response Json(unsigned status, std::string body);
};

// Pulls the first chunk behind the body: what fails until then is a problem with a status of its
// own, and an answer that ends with it is whole. Whoever calls a handler does this, nobody else.
void PullFirstChunk(Response* response);

// application/problem+json (RFC 9457) of an Error; the one place where codes become statuses.
Response ProblemOf(const Error& error);
// The detail is text for people: bytes in it that are no UTF-8 are written as \xNN.
Response Problem(unsigned status, std::string_view detail);
// With members of its own ("errors") behind the standard ones.
Response Problem(unsigned status, std::string_view detail, const nlohmann::ordered_json& members);
// Agents of other protocols drop what any 4xx refuses: 408 and 429, after which the same may be
// sent again, become 503 with Retry-After. The body stays.
void LetAgentsTryAgain(Response* problem);
unsigned HttpStatus(ErrorCode code);
std::string_view ReasonPhrase(unsigned status);

}  // namespace tallyd

#endif  // TALLYD_API_RESPONSE_H_
