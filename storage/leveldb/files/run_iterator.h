// RunIterator: the entries of several runs in the order of their keys, as LevelDB's iterators go.
// It begins at no entry. A tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1) over
// codes of keys: a step costs as many comparisons of numbers as the logarithm of the runs. One
// thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_RUN_ITERATOR_H_
#define TALLYD_STORAGE_LEVELDB_FILES_RUN_ITERATOR_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "config/values/prefetch.h"
#include "storage/leveldb/files/entry_run.h"
#include "storage/leveldb/files/key_code.h"

namespace tallyd {

class RunIterator {
 public:
  // The runs outlive it.
  explicit RunIterator(std::span<const EntryRunPtr> runs);
  RunIterator(const RunIterator&) = delete;
  RunIterator& operator=(const RunIterator&) = delete;

  bool Valid() const { return winner_.code != kNoKey; }
  // To the first entry at or behind `key`.
  void Seek(std::string_view key);
  // Behind the last.
  void SeekToEnd();
  // REQUIRES for these: Valid().
  void Next();
  const EntryRun::Entry& entry() const { return winner_.cursor->entry(); }
  // Of the key at hand against the one that Next or TakePrefix left. REQUIRES: these came here.
  KeyCode code() const { return winner_.code; }
  // Calls `take` for the entries whose keys begin with `prefix` of the run that has the one at
  // hand, and moves past them; other runs may have more of them. REQUIRES: the one at hand has such
  // a key.
  template <class Take>
  void TakePrefix(std::string_view prefix, const Take& take) {
    Cursor* const from = winner_.cursor;
    do {
      take(from->entry());
      from->Advance();
    } while (from->valid() && Continues(from->entry(), from->entry().code, prefix));
    // What follows in the run has as much in common with the first one taken as with the last: less
    // than the prefix. So its code is good against either.
    Replay();
  }
  // Whether the one at hand has such a key, too. REQUIRES: the one before, which Next or TakePrefix
  // left, has.
  bool Continues(std::string_view prefix) const { return Continues(entry(), code(), prefix); }
  // To the last entry before the one at hand, or, behind the last, to the last of all. False, and
  // it stays, where there is none.
  bool Prev();

 private:
  // So many entries of a run are fetched from memory before they are looked at: they are spread
  // over the records of many groups.
  static constexpr size_t kFetchedAhead = 4;

  // At the first entry of a run that does not come before the one at hand.
  struct Cursor {
    const EntryRun* run = nullptr;
    size_t at = 0;

    bool valid() const { return at < run->entries().size(); }
    const EntryRun::Entry& entry() const { return run->entries()[at]; }
    void Advance() {
      ++at;
      Fetch(kFetchedAhead);
    }
    void Fetch(size_t ahead) const {
      if (at + ahead >= run->entries().size()) return;
      const char* const bytes = run->entries()[at + ahead].bytes;
      Prefetch(bytes);
      Prefetch(bytes + kCacheLineBytes);
    }
  };
  // An entry by its code: against the one that was given last, or, of a loser, against whoever beat
  // it. kNoKey: its run is at its end.
  struct Player {
    KeyCode code = kNoKey;
    Cursor* cursor = nullptr;
  };

  // Whether a key begins with what the one that it is coded against begins with. The code mostly
  // tells, and the key is left where it is.
  static bool Continues(const EntryRun::Entry& entry, KeyCode code, std::string_view prefix) {
    if (EndOfCode(code) <= prefix.size()) return false;
    return CommonByCode(code) >= prefix.size() || entry.key().starts_with(prefix);
  }

  void PlayAll();
  // From the leaf of its cursor up to the winner, or to a place where nobody played yet.
  void Play(Player player);
  // Of players of the same code: whether the first one wins, and the code of whoever loses against
  // the other. In two registers: an address of the player's code would keep it in memory.
  struct Tie {
    bool wins = false;
    KeyCode loser = kNoKey;
  };
  static Tie PlayTie(KeyCode code, const Cursor& player, const Cursor& other);
  // After the winner moved.
  void Replay();

  size_t common_ = 0;  // Of the first bytes of all keys.
  std::vector<Cursor> cursors_;
  std::vector<Player> losers_;  // From 1 on; the children of i are 2i and 2i + 1, leaves come last.
  Player winner_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_RUN_ITERATOR_H_
