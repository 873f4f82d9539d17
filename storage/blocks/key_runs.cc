#include "storage/blocks/key_runs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "config/values/digits.h"
#include "storage/batch.h"
#include "storage/blocks/block_limits.h"
#include "storage/blocks/column_codec.h"

namespace tallyd {
namespace {

constexpr size_t kMaxDigits = 19;
constexpr size_t kDigits[] = {0, 13, 10, 16, 19};
constexpr size_t kTailDigits = 8;
static_assert(std::ranges::all_of(std::span(kDigits).subspan(1),
                                  [](size_t digits) { return digits >= kTailDigits; }));
// The longer first: the digits of microseconds begin with those of milliseconds.
constexpr KeyTime kKinds[] = {KeyTime::kReverseMs, KeyTime::kUs, KeyTime::kMs, KeyTime::kS};
constexpr int64_t kUsPerMs = 1000;
constexpr int64_t kUsPerS = 1'000'000;

size_t DigitsOf(KeyTime kind) { return kDigits[static_cast<size_t>(kind)]; }

uint64_t NumberOf(KeyTime kind, TimeUs time) {
  switch (kind) {
    case KeyTime::kMs:
      return static_cast<uint64_t>(time / kUsPerMs);
    case KeyTime::kS:
      return static_cast<uint64_t>(time / kUsPerS);
    case KeyTime::kReverseMs:
      return static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - time / kUsPerMs);
    default:
      return static_cast<uint64_t>(time);
  }
}

}  // namespace

size_t RenderKeyTime(KeyTime kind, TimeUs time, char* to) {
  const size_t digits = DigitsOf(kind);
  WriteLastDigits(digits, NumberOf(kind, time), to + digits);
  return digits;
}

void RenderKey(const KeyRun& run, TimeUs time, std::string* key) {
  key->assign(run.stem.substr(0, run.place));
  if (run.time != KeyTime::kNone) {
    char digits[kMaxDigits];
    key->append(digits, RenderKeyTime(run.time, time, digits));
  }
  key->append(run.stem.substr(run.place));
}

bool SameKeyTime(KeyTime kind, TimeUs a, TimeUs b) {
  return kind == KeyTime::kNone || NumberOf(kind, a) == NumberOf(kind, b);
}

void KeyRunBuilder::Clear() {
  runs_.clear();
  stem_bytes_ = 0;
  last_number_.reset();
}

// What the last key has in common with this one was looked at then: the stem before the time, and
// of numbers that differ in their last digits alone the others.
bool KeyRunBuilder::Continues(std::string_view key, TimeUs time, size_t common) {
  const Run& run = runs_.back();
  if (run.time == KeyTime::kNone) return key == run.stem;
  const size_t digits = DigitsOf(run.time);
  if (key.size() != run.stem.size() + digits) return false;
  const std::string_view stem = run.stem;
  if (key.substr(run.place + digits) != stem.substr(run.place)) return false;
  const uint64_t number = NumberOf(run.time, time);
  const std::optional<uint64_t> last = std::exchange(last_number_, number);
  const size_t tail = run.place + digits - kTailDigits;
  constexpr uint64_t kTails = kPowersOfTen[kTailDigits];
  if (common >= tail && last && *last / kTails == number / kTails) {
    return AreLastDigits(key.substr(tail, kTailDigits), number);
  }
  return key.substr(0, run.place) == stem.substr(0, run.place) &&
         AreLastDigits(key.substr(run.place, digits), number);
}

KeyRunBuilder::Run KeyRunBuilder::Begin(std::string_view key, TimeUs time) {
  Run run;
  run.stem = key;
  char seconds[kMaxDigits];
  const size_t size = RenderKeyTime(KeyTime::kS, time, seconds);
  const bool has_seconds = key.find(std::string_view(seconds, size)) != std::string_view::npos;
  for (const KeyTime kind : kKinds) {
    // The digits of milliseconds and microseconds begin with these.
    if (!has_seconds && kind != KeyTime::kReverseMs) continue;
    char rendered[kMaxDigits];
    const size_t digits = RenderKeyTime(kind, time, rendered);
    const size_t place = key.find(std::string_view(rendered, digits));
    if (place == std::string_view::npos) continue;
    run.time = kind;
    run.place = static_cast<uint32_t>(place);
    run.stem.erase(place, digits);
    break;
  }
  return run;
}

void KeyRunBuilder::Add(std::string_view key, TimeUs time, size_t common) {
  if (runs_.empty() || !Continues(key, time, common)) {
    runs_.push_back(Begin(key, time));
    stem_bytes_ += runs_.back().stem.size();
    last_number_ = NumberOf(runs_.back().time, time);
  }
  ++runs_.back().count;
}

void KeyRunBuilder::AddRun(const KeyRun& run, uint32_t count) {
  const bool goes_on = !runs_.empty() && runs_.back().time == run.time &&
                       runs_.back().place == run.place && runs_.back().stem == run.stem;
  if (!goes_on) {
    runs_.push_back({std::string(run.stem), run.time, run.place, 0});
    stem_bytes_ += run.stem.size();
  }
  last_number_.reset();
  runs_.back().count += count;
}

// All numbers, then all that is not shared of the stems, so that each compresses by itself.
void KeyRunBuilder::Encode(std::string* out) const {
  std::string numbers;
  std::string suffixes;
  std::string_view before;
  for (const Run& run : runs_) {
    const std::string_view stem = run.stem;
    const auto [differ, unused] =
        std::mismatch(stem.begin(), stem.end(), before.begin(), before.end());
    const auto shared = static_cast<size_t>(differ - stem.begin());
    PutVarint(&numbers, run.count);
    numbers.push_back(static_cast<char>(run.time));
    PutVarint(&numbers, run.place);
    PutVarint(&numbers, shared);
    PutVarint(&numbers, stem.size() - shared);
    suffixes.append(stem.substr(shared));
    before = stem;
  }
  PutVarint(out, runs_.size());
  AppendText(numbers, out);
  AppendText(suffixes, out);
}

bool ReadKeyRuns(ByteReader* in, uint32_t entries, std::vector<KeyRun>* runs, std::string* stems) {
  thread_local std::string numbers;
  thread_local std::string suffixes;
  uint64_t count = 0;
  if (!in->GetVarint(&count) || count > entries || !ReadText(in, &numbers) ||
      !ReadText(in, &suffixes)) {
    return false;
  }
  runs->clear();
  stems->clear();
  ByteReader from(numbers);
  ByteReader text(suffixes);
  std::vector<size_t> sizes;
  size_t last = 0;
  uint32_t entry = 0;
  for (; count > 0; --count) {
    KeyRun run;
    uint8_t kind = 0;
    uint32_t length = 0;
    uint64_t shared = 0;
    uint64_t more = 0;
    std::string_view suffix;
    const size_t last_size = sizes.empty() ? 0 : sizes.back();
    if (!from.GetNumber(&length, entries - entry) || length == 0 || !from.GetByte(&kind) ||
        kind > static_cast<uint8_t>(KeyTime::kReverseMs) ||
        !from.GetNumber(&run.place, kMaxRowKeyBytes) || !from.GetVarint(&shared) ||
        shared > last_size || !from.GetVarint(&more) || !text.GetBytes(more, &suffix) ||
        shared + more > kMaxRowKeyBytes || run.place > shared + more ||
        stems->size() + shared + more > kMaxStemBytes) {
      return false;
    }
    const size_t begin = stems->size();
    stems->append(*stems, last, shared);
    stems->append(suffix);
    last = begin;
    sizes.push_back(stems->size() - begin);
    run.begin = entry;
    run.time = static_cast<KeyTime>(kind);
    entry += length;
    run.end = entry;
    runs->push_back(run);
  }
  // Now that they stay where they are.
  size_t at = 0;
  for (size_t i = 0; i < runs->size(); at += sizes[i++]) {
    (*runs)[i].stem = std::string_view(*stems).substr(at, sizes[i]);
  }
  return entry == entries && from.done() && text.done();
}

}  // namespace tallyd
