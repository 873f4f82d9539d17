// Faults: what goes wrong between the tablet server and whoever calls it, and what was called. By
// chance, of a seed, or as a test says of each call. Thread-safe.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_FAULTS_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_FAULTS_H_

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallyd::tablet {

// Chances between 0 and 1.
struct FaultRates {
  double refused_calls = 0;    // Nothing is done.
  double lost_answers = 0;     // Of calls that write: done, and the answer says otherwise.
  double failed_entries = 0;   // Of MutateRows: half of these entries are written all the same.
  double missing_answers = 0;  // Of MutateRows: the stream breaks before it told of all entries.
  double broken_streams = 0;   // Of ReadRows, at each row: between two of them or within one.
  double odd_chunks = 0;       // Rows and values come in pieces, or begin anew.
  double slow_calls = 0;       // Each by slow_time.
  double retry_infos = 0;      // Of what is refused: it says when to try again.
  double rate_limits = 0;      // Of MutateRows' answers: they ask for less, or allow more.
  double collections = 0;      // At each call: garbage is collected.
  double tablet_splits = 0;    // At each call.
  std::chrono::microseconds latency{0};  // Of each call.
  std::chrono::microseconds slow_time{20'000};

  // Everything at once, at about this chance, but for the collection of garbage: it goes by the
  // server's clock, which is not that of most tests.
  static FaultRates All(double chance);
};

struct Call {
  std::string_view method;   // "MutateRows"
  std::string_view table;    // Its full name; of the administration what the request names.
  std::string_view row_key;  // Of a call, or an entry of MutateRows, for one row.
};

enum class Outcome : uint8_t {
  kDone,
  kRefused,     // It is not done, and the answer says so.
  kUnanswered,  // It is done, and the answer says that it may not be.
};
struct Verdict {
  Outcome outcome = Outcome::kDone;
  grpc::Status status;  // Unless it is done.
};
// Asked of each call, and of each entry of MutateRows as method "Entry".
using Decide = std::function<Verdict(const Call&)>;

class Faults {
 public:
  explicit Faults(unsigned seed) : random_(seed) {}

  void Set(const FaultRates& rates);
  FaultRates rates() const;
  // In place of chance, for what it decides. None: chance alone.
  void Script(Decide decide);

  // What becomes of a call or entry. Counts calls.
  Verdict DecideCall(const Call& call, bool writes);
  Verdict DecideEntry(const Call& call);
  bool Happens(double FaultRates::*rate);
  size_t UpTo(size_t most);  // 0 to most.
  unsigned NewSeed();
  void Sleep();  // As long as a call takes.

  // Of calls by their method's name, and with their table's ("ReadRows T"); of entries of
  // MutateRows ("Entry T"); of faults; since the last Forget.
  std::map<std::string, uint64_t> Calls() const;
  uint64_t Count(const std::string& what) const;
  void Add(const std::string& what, uint64_t count = 1);
  void Forget();

  // Rows of calls that write, while they are under way: "overlaps" counts those that two calls had
  // at once.
  void Enter(const std::vector<std::pair<std::string, std::string>>& rows);
  void Leave(const std::vector<std::pair<std::string, std::string>>& rows);

 private:
  bool HappensLocked(double chance) { return std::bernoulli_distribution(chance)(random_); }

  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::mt19937 random_;
  FaultRates rates_;
  Decide decide_;
  std::map<std::string, uint64_t> counts_;
  std::multiset<std::pair<std::string, std::string>> under_way_;
};

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_FAULTS_H_
