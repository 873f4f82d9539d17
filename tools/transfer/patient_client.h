// PatientClient: requests to one daemon, tried again with growing pauses while it does not answer
// or says that it has no room now (429, 503, 507 and what gateways say), until a request has had no
// other answer for as long as --retry-for says. Only for requests that may be sent twice. Blocks.
// Thread-safe but for HoldTo, which comes before other threads ask.
#ifndef TALLYD_TOOLS_TRANSFER_PATIENT_CLIENT_H_
#define TALLYD_TOOLS_TRANSFER_PATIENT_CLIENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/values/result.h"
#include "ingest/text/json.h"
#include "tools/commands.h"
#include "tools/http_client.h"
#include "tools/transfer/store_moment.h"

namespace tallyd {

class PatientClient {
 public:
  // kInvalid where the URL, the token's file or --retry-for is wrong.
  static Result<PatientClient> Make(const TransferLine& line);
  // Of another way to say to whom; the line's URL counts for nothing.
  static Result<PatientClient> Make(HttpTarget target, const TransferLine& line);

  void SetToken(const std::string& token);  // Empty: none.

  // Any answer but those it waits for. kUnavailable, with the reason told last, when it gives up.
  // Why it waits is said on standard error, once a request. A daemon that was away may come back
  // with another store than that which is held to: nothing is sent there again, it is kConflict.
  Result<HttpAnswer> Ask(HttpQuestion question) const;
  // GET of what must be there, as JSON text: any status but 200 is an Error with its detail.
  Result<std::string> Get(const std::string& path) const;
  // The same, which must be an object.
  Result<Json> GetJson(const std::string& path) const;

  // From now on the daemon's store is to have all that it had then; of no id: any.
  void HoldTo(StoreMoment store) { store_ = std::move(store); }
  // What it is now. kConflict where it is another one, or was put back from an older copy: a daemon
  // may come back so between two requests. Whoever is done asks behind its last request. Other
  // errors are those of Ask.
  Result<StoreMoment> CheckStore() const { return CheckStore(store_); }
  // The same, with what it is to have.
  Result<StoreMoment> CheckStore(const StoreMoment& then) const;

 private:
  HttpQuestion Authorized(HttpQuestion question) const;
  Result<StoreMoment> Compare(const HttpAnswer& status, const StoreMoment& then) const;

  HttpTarget target_;
  std::string authorization_;  // Empty: none.
  StoreMoment store_;
  int64_t retry_for_us_ = 0;
};

// Seconds to wait before the attempt after `attempt` (from 0): doubled from 0.1 up to 10, but never
// less than Retry-After asks for, of which a minute is believed.
double PauseBefore(unsigned attempt, std::string_view retry_after);

// "400: 1 of 2 events refused ...": what a refusal says of itself.
std::string DetailOf(const HttpAnswer& answer);
// Fine where a POST of so many events was answered with 200 and accounts for each of them: taken
// (those that are held or have expired among them) or refused. kIo: somebody else answered, or what
// is stored is something else.
Status CheckCounts(const HttpAnswer& answer, size_t sent);
// Fine where a page of events in "ndjson" or "csv" came whole: of that type, with its length, and
// up to a line end. kIo says what is wrong with it.
Status CheckPage(const HttpAnswer& answer, std::string_view format);
// The path of the next page, of `Link: </v1/...>; rel="next"`; empty where there is none.
std::string NextPath(const HttpAnswer& answer);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_PATIENT_CLIENT_H_
