// RemovalGate: keeps apart those who change rows by their keys, or remove events, and the jobs that
// write what they read before (a filling, latest rows that come back, a nightly table that takes
// its name). A job may bring nothing back that went meanwhile:
//
//   auto held = gate.Hold();        // Who changes: from before it looks until it is committed.
//   gate.NoteRemoval(stream);       // Before its commit, where something goes.
//
//   uint64_t removals = gate.Removals(stream);               // A job: before it reads,
//   if (auto alone = gate.Enter(stream, removals)) ...       // and then for its commit.
//
// Many hold it at once, a job has it alone; whoever comes first is let in first, so that no crowd
// of the ones keeps the other out. Nobody holds it twice, and who has it waits for the store alone.
//
// A table whose rows all come from another one, until it is filled, is told to it as well: what is
// deleted of such a table by itself would come back. Thread-safe.
#ifndef TALLYD_SERVICE_WRITE_REMOVAL_GATE_H_
#define TALLYD_SERVICE_WRITE_REMOVAL_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>

namespace tallyd {

class RemovalGate {
 public:
  using Held = std::shared_lock<std::shared_mutex>;
  using Alone = std::unique_lock<std::shared_mutex>;

  RemovalGate() = default;
  RemovalGate(const RemovalGate&) = delete;
  RemovalGate& operator=(const RemovalGate&) = delete;

  Held Hold();
  // Something goes of tables of this stream. REQUIRES: the caller holds it.
  void NoteRemoval(std::string_view stream);

  // How many removals of the stream there were, while none is under way.
  uint64_t Removals(std::string_view stream);
  // Whether there were others since; by now more may be under way.
  bool HasMore(std::string_view stream, uint64_t removals) const;
  // Nothing where there was another removal since.
  std::optional<Alone> Enter(std::string_view stream, uint64_t removals);
  Alone EnterAlone();

  // Tells the gate of a table that is being filled, for as long as it lives. It waits for those who
  // hold the gate: they may have found that nobody fills the table.
  class Filling {
   public:
    Filling(RemovalGate* gate, std::string table);
    ~Filling();
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;

   private:
    RemovalGate& gate_;
    const std::string table_;
  };
  bool IsFilling(std::string_view table) const;

 private:
  uint64_t Count(std::string_view stream) const;

  std::mutex turn_;  // Of whoever is next.
  std::shared_mutex mutex_;
  mutable std::mutex known_mutex_;  // Guards what follows.
  std::map<std::string, uint64_t, std::less<>> removals_;  // By stream.
  std::set<std::string, std::less<>> filling_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_REMOVAL_GATE_H_
