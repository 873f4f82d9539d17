// A request as endpoints and handlers see it: no sockets, no Beast. The session makes it of the
// head; its endpoint adds the body, and what else a handler is to find.
#ifndef TALLYD_API_REQUEST_H_
#define TALLYD_API_REQUEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "service/idempotency/keys.h"
#include "service/limits/query_memory.h"
#include "service/principal.h"

namespace tallyd {

enum class Method : uint8_t { kGet, kPost, kDelete, kOptions, kOther };

// The parameters of a query string, decoded, in order. '+' is a space; an invalid escape is an
// error when they are parsed.
class Params {
 public:
  static Result<Params> Parse(std::string_view query);

  bool Has(std::string_view name) const;
  // The value; empty if absent.
  std::optional<std::string_view> Get(std::string_view name) const;
  // Every value of a list parameter: commas and repetition both separate; "\," is a comma inside a
  // name.
  std::vector<std::string> List(std::string_view name) const;
  // "1", "true" or nothing after the name are true; "0", "false" are false; anything else is an
  // error.
  Result<bool> Flag(std::string_view name) const;
  // A decimal integer of [min, max].
  Result<std::optional<uint64_t>> Number(std::string_view name, uint64_t min, uint64_t max) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }
  // An error that names the first parameter that is not in `known` and the nearest of them.
  Status RefuseUnknown(const std::vector<std::string>& known) const;
  // An error when a parameter that has one value is given twice: of two, none is what was meant.
  Status ExpectOnce(std::string_view name) const;
  // The same of every parameter but the lists.
  Status RefuseRepeated(const std::vector<std::string>& lists = {}) const;

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

struct Request {
  Method method = Method::kGet;
  PrincipalPtr principal;  // Null: nobody, who reaches no route.
  // It came with an Authorization header, good or not. What that says is nowhere kept.
  bool has_credentials = false;
  std::string_view peer;   // "127.0.0.1:40312", of who asks, for the log; outlives the request.
  std::string path;        // As sent, still encoded.
  // What the route's {placeholders} matched, percent-decoded once.
  std::vector<std::string> arguments;
  Params params;
  std::string query;      // As sent.
  std::string_view body;  // Empty on routes that take none; lives as long as the request.
  std::string accept;
  std::string accept_encoding;
  std::string content_type;
  std::string content_encoding;
  // Of the page that asks, where server.cors has it; else empty.
  std::string cors_origin;
  // As sent; the first one where it comes more than once.
  std::optional<std::string> idempotency_key;
  bool has_two_idempotency_keys = false;
  // On routes that take a key, where there is one: its handler remembers the answer with what it
  // commits.
  const KeyClaim* claim = nullptr;
  // What the answer holds counts here. Null: it counts nowhere.
  ReadMemoryPtr memory;
};

}  // namespace tallyd

#endif  // TALLYD_API_REQUEST_H_
