#include "storage/leveldb/files/run_iterator.h"

#include <algorithm>
#include <utility>

namespace tallyd {

RunIterator::RunIterator(std::span<const EntryRunPtr> runs) {
  if (runs.empty()) return;
  const std::string_view first = runs.front()->entries().front().key();
  common_ = first.size();
  cursors_.reserve(runs.size());
  for (const EntryRunPtr& run : runs) {
    cursors_.push_back({run.get(), run->entries().size()});
    for (const EntryRun::Entry* entry : {&run->entries().front(), &run->entries().back()}) {
      common_ = std::min(common_, CommonBytes(entry->key(), first));
    }
  }
  losers_.resize(cursors_.size());
}

// By codes against what all keys begin with.
void RunIterator::PlayAll() {
  std::ranges::fill(losers_, Player());
  for (Cursor& cursor : cursors_) {
    Play({cursor.valid() ? CodeBehind(cursor.entry().key(), common_) : kNoKey, &cursor});
  }
}

// The player by its parts: a copy of both at once, when one was just written, would wait until that
// is in the cache.
void RunIterator::Play(Player player) {
  auto [code, cursor] = player;
  const auto leaf = static_cast<size_t>(cursor - cursors_.data()) + cursors_.size();
  for (size_t place = leaf / 2; place > 0; place /= 2) {
    Player& other = losers_[place];
    if (other.cursor == nullptr) {
      other = {code, cursor};
      return;
    }
    if (code < other.code) continue;
    KeyCode lost = code;
    if (code == other.code) {
      const Tie tie = PlayTie(code, *cursor, *other.cursor);
      if (tie.wins) {
        other.code = tie.loser;
        continue;
      }
      lost = tie.loser;
    }
    code = std::exchange(other.code, lost);
    cursor = std::exchange(other.cursor, cursor);
  }
  winner_ = {code, cursor};
}

RunIterator::Tie RunIterator::PlayTie(KeyCode code, const Cursor& player, const Cursor& other) {
  if (code == kNoKey) return {true, kNoKey};
  const std::string_view a = player.entry().key();
  const std::string_view b = other.entry().key();
  const size_t most = std::min(a.size(), b.size());
  const size_t common = CommonBytes(a, b, std::min(EndOfCode(code), most));
  const bool wins = a.substr(common) <= b.substr(common);
  return {wins, CodeBehind(wins ? b : a, common)};
}

void RunIterator::Seek(std::string_view key) {
  for (Cursor& cursor : cursors_) {
    cursor.at = key.empty() ? 0 : cursor.run->LowerBound(key, cursor.at);
    for (size_t ahead = 0; ahead < kFetchedAhead; ++ahead) cursor.Fetch(ahead);
  }
  PlayAll();
}

void RunIterator::SeekToEnd() {
  for (Cursor& cursor : cursors_) cursor.at = cursor.run->entries().size();
  PlayAll();
}

void RunIterator::Replay() {
  const Cursor& moved = *winner_.cursor;
  Play({moved.valid() ? moved.entry().code : kNoKey, winner_.cursor});
}

void RunIterator::Next() {
  winner_.cursor->Advance();
  Replay();
}

bool RunIterator::Prev() {
  Cursor* last = nullptr;
  for (Cursor& cursor : cursors_) {
    if (cursor.at == 0) continue;
    const auto before = [](const Cursor& of) { return of.run->entries()[of.at - 1].key(); };
    if (last == nullptr || before(cursor) > before(*last)) last = &cursor;
  }
  if (last == nullptr) return false;
  --last->at;
  PlayAll();
  return true;
}

}  // namespace tallyd
