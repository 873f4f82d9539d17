#include "service/heat/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tallyd {
namespace {

constexpr int64_t kUsPerMinute = 60 * kUsPerSecond;
constexpr int64_t kUsPerHour = 60 * kUsPerMinute;
constexpr int64_t kKeptUs = 7 * kUsPerDay;
constexpr size_t kBatchBytes = 4u << 20;
// Chunks that are in memory at a time.
constexpr size_t kMemosAtOnce = 8;
// A chunk takes an hour, and what a late Save adds to it.
constexpr int64_t kLongestChunkUs = 2 * kUsPerHour;

constexpr std::string_view kPrefix = "heat/";

std::string PrefixOf(const HeatOf& of) {
  return fmt::format("{}{:08x}/{}/", kPrefix, of.table, static_cast<char>(of.metric));
}

std::string KeyOf(const HeatOf& of, TimeUs since) {
  return fmt::format("{}{:016x}", PrefixOf(of), static_cast<uint64_t>(std::max<TimeUs>(since, 0)));
}

// What a key tells; nothing of one that KeyOf did not make.
std::optional<std::pair<HeatOf, TimeUs>> ReadKey(std::string_view key) {
  constexpr size_t kTable = kPrefix.size();
  if (key.size() != kTable + 8 + 3 + 16 || !key.starts_with(kPrefix)) return std::nullopt;
  const std::string text(key);
  HeatOf of;
  of.table = static_cast<TableId>(std::strtoul(text.substr(kTable, 8).c_str(), nullptr, 16));
  of.metric = static_cast<HeatMetric>(text[kTable + 9]);
  const uint64_t since = std::strtoull(text.substr(kTable + 11).c_str(), nullptr, 16);
  return std::pair(of, static_cast<TimeUs>(since));
}

// Calls `use` for the chunks of memos behind `after` up to `end`, which is not among them.
Status ForChunks(Store* store, const HeatOf& of, std::string after, const std::string& end,
                 const std::function<void(const HeatChunk&)>& use) {
  while (true) {
    const Result<std::vector<Memo>> memos = store->Memos(PrefixOf(of), kMemosAtOnce, after);
    if (!memos) return memos.error();
    for (const auto& [key, value] : *memos) {
      if (key >= end) return {};
      // One that cannot be read is as if it had not been counted.
      if (const Result<HeatChunk> chunk = DecodeChunk(value)) use(*chunk);
    }
    if (memos->size() < kMemosAtOnce) return {};
    after = memos->back().first;
  }
}

}  // namespace

void HeatMap::Add(HeatMetric metric, const RowStems& stems, TimeUs now) {
  for (const RowStems::OfTable& touched : stems.tables()) {
    const HeatOf of{metric, touched.table};
    const OpenPtr open = OpenOf(of, now);
    RollIfDue(of, open.get(), now);
    open->table.Add(touched, now / kUsPerMinute);
  }
}

HeatMap::OpenPtr HeatMap::FindOpen(const HeatOf& of) const {
  const std::shared_lock lock(mutex_);
  const auto found = open_.find(of);
  return found == open_.end() ? nullptr : found->second;
}

HeatMap::OpenPtr HeatMap::OpenOf(const HeatOf& of, TimeUs now) {
  if (OpenPtr open = FindOpen(of)) return open;
  auto made = std::make_shared<Open>();
  made->since = now;
  const std::unique_lock lock(mutex_);
  return open_.try_emplace(of, std::move(made)).first->second;
}

void HeatMap::RollIfDue(const HeatOf& of, Open* open, TimeUs now) {
  if (open->since / kUsPerHour == now / kUsPerHour) return;
  const std::unique_lock lock(mutex_);
  if (open->since / kUsPerHour == now / kUsPerHour || open->unsaved) return;
  const HeatChunk chunk = open->table.Roll();
  if (!chunk.minutes.empty()) {
    open->unsaved.emplace(KeyOf(of, open->since), EncodeChunk(chunk, kMaxMemoValueBytes));
  }
  open->since = now;
}

std::vector<Memo> HeatMap::TakeMemos(const HeatOf& of, Open* open) {
  std::vector<Memo> memos;
  const std::unique_lock lock(mutex_);
  if (open->unsaved) memos.push_back(*open->unsaved);
  if (open->table.TakeChanged()) {
    memos.emplace_back(KeyOf(of, open->since),
                       EncodeChunk(open->table.Chunk(), kMaxMemoValueBytes));
  }
  return memos;
}

Status HeatMap::Save(Store* store, TimeUs now) {
  std::vector<std::pair<HeatOf, OpenPtr>> all;
  {
    const std::shared_lock lock(mutex_);
    all.assign(open_.begin(), open_.end());
  }
  Status saved;
  std::vector<std::pair<OpenPtr, std::vector<Memo>>> group;
  size_t bytes = 0;
  for (const auto& [of, open] : all) {
    RollIfDue(of, open.get(), now);
    std::vector<Memo> memos = TakeMemos(of, open.get());
    for (const Memo& memo : memos) bytes += memo.second.size();
    if (!memos.empty()) group.emplace_back(open, std::move(memos));
    if (bytes < kBatchBytes) continue;
    if (const Status done = Commit(store, std::exchange(group, {})); !done) saved = done;
    bytes = 0;
  }
  if (const Status done = Commit(store, group); !done) saved = done;
  return saved ? Forget(store, now) : saved;
}

Status HeatMap::Commit(Store* store,
                       const std::vector<std::pair<OpenPtr, std::vector<Memo>>>& memos) {
  if (memos.empty()) return {};
  auto batch = store->NewBatch();
  for (const auto& [open, of_table] : memos) {
    for (const auto& [key, value] : of_table) batch->PutMemo(key, value, NoteOrder::kAfter);
  }
  const Status done = store->Commit(std::move(batch));
  const std::unique_lock lock(mutex_);
  for (const auto& [open, of_table] : memos) {
    if (done) {
      open->unsaved.reset();
    } else {
      open->table.MarkChanged();
    }
  }
  return done;
}

// Once an hour. Goes from table to table by what their first keys tell, so that it reads little
// where nothing is old.
Status HeatMap::Forget(Store* store, TimeUs now) {
  if (now - forgot_at_ < kUsPerHour && now >= forgot_at_) return {};
  std::vector<TableId> known;
  for (const TablePtr& table : store->Tables()) known.push_back(table->id);
  auto batch = store->NewBatch();
  std::string after;
  while (true) {
    const Result<std::vector<Memo>> memos = store->Memos(kPrefix, 1, after);
    if (!memos) return memos.error();
    if (memos->empty()) break;
    after = memos->front().first;
    const auto key = ReadKey(after);
    const bool is_gone = !key || std::ranges::count(known, key->first.table) == 0;
    if (is_gone || key->second < now - kKeptUs - kLongestChunkUs) {
      batch->DropMemo(after);
    } else {
      after = PrefixOf(key->first) + "~";  // Behind all of its keys.
    }
  }
  forgot_at_ = now;
  return batch->empty() ? Status() : store->Commit(std::move(batch));
}

Result<HeatChart> HeatMap::Chart(Store* store, const HeatOf& of, const TimeRange& time, TimeUs now,
                                 ChartMaker::IsTold is_told) const {
  std::vector<HeatChunk> newest;
  std::string end = PrefixOf(of) + "~";
  if (const OpenPtr open = FindOpen(of)) {
    const std::shared_lock lock(mutex_);
    newest.push_back(open->table.Chunk());
    end = KeyOf(of, open->since);
    if (open->unsaved) {
      end = open->unsaved->first;
      if (Result<HeatChunk> chunk = DecodeChunk(open->unsaved->second)) newest.push_back(*chunk);
    }
  }
  const TimeUs from = std::max(time.from, now - kKeptUs);
  ChartMaker maker(from / kUsPerMinute, (std::min(time.to, now + 1) - 1) / kUsPerMinute,
                   std::move(is_told));
  const std::string after = KeyOf(of, from - kLongestChunkUs);
  const auto for_all = [&](const std::function<void(const HeatChunk&)>& use) {
    for (const HeatChunk& chunk : newest) use(chunk);
    return ForChunks(store, of, after, end, use);
  };
  Status read = for_all([&](const HeatChunk& chunk) { maker.Learn(chunk); });
  if (!read) return read.error();
  maker.Arrange();
  read = for_all([&](const HeatChunk& chunk) { maker.Count(chunk); });
  if (!read) return read.error();
  return std::move(maker).Take();
}

}  // namespace tallyd
