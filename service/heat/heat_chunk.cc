// The bytes of a chunk, before zstd compresses them; all numbers are varints:
//
// 1. The version (1), whether the ranges are a partition, how many there are; for each the length
//    and the bytes of its start, and of its end.
// 2. The number of minutes; for each the minute as a difference to the one before (zigzag), the
//    number of its cells, and for each cell the distance of its range from the one before, its
//    rows, and how many of them were not at the end.
#include "service/heat/heat_chunk.h"

#include <zstd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tallyd {
namespace {

constexpr uint64_t kVersion = 1;
constexpr int kLevel = 3;
// Of a chunk that is not compressed: a thousand ranges of the longest keys, and their cells.
constexpr size_t kMaxPlainBytes = 64u << 20;

void PutNumber(std::string* out, uint64_t number) {
  while (number >= 0x80) {
    out->push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out->push_back(static_cast<char>(number));
}

void PutText(std::string* out, std::string_view text) {
  PutNumber(out, text.size());
  out->append(text);
}

uint64_t Zigzag(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}

// Reads what Put wrote; `good` is false from the first byte on that it cannot have written.
struct ChunkReader {
  std::string_view rest;
  bool good = true;

  uint64_t Number() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return number;
    }
    good = false;
    return 0;
  }
  // Of things that take a byte each at least.
  size_t Count() {
    const uint64_t count = Number();
    if (count > rest.size()) good = false;
    return good ? static_cast<size_t>(count) : 0;
  }
  std::string Text() {
    const size_t size = Count();
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
  uint32_t Small() {
    const uint64_t number = Number();
    if (number > UINT32_MAX) good = false;
    return static_cast<uint32_t>(number);
  }
  int64_t Signed() {
    const uint64_t number = Number();
    return static_cast<int64_t>((number >> 1) ^ (~(number & 1) + 1));
  }
};

std::string PlainBytes(const HeatChunk& chunk) {
  std::string out;
  PutNumber(&out, kVersion);
  PutNumber(&out, chunk.is_partition ? 1 : 0);
  PutNumber(&out, chunk.ranges.size());
  for (const KeyRange& range : chunk.ranges) {
    PutText(&out, range.start);
    PutText(&out, range.end);
  }
  PutNumber(&out, chunk.minutes.size());
  int64_t before = 0;
  for (const HeatMinute& minute : chunk.minutes) {
    PutNumber(&out, Zigzag(minute.minute - before));
    before = minute.minute;
    PutNumber(&out, minute.cells.size());
    uint32_t range = 0;
    for (const HeatCell& cell : minute.cells) {
      PutNumber(&out, Zigzag(int64_t{cell.range} - int64_t{range}));
      PutNumber(&out, cell.rows);
      PutNumber(&out, cell.rows - std::min(cell.at_end, cell.rows));
      range = cell.range;
    }
  }
  return out;
}

std::string Compressed(const std::string& plain) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kLevel);
  out.resize(ZSTD_isError(size) ? 0 : size);
  return out;
}

HeatMinute ReadMinute(ChunkReader* reader, int64_t before, size_t ranges) {
  HeatMinute minute;
  minute.minute =
      static_cast<int64_t>(static_cast<uint64_t>(before) + static_cast<uint64_t>(reader->Signed()));
  const size_t cells = reader->Count();
  uint64_t range = 0;
  for (size_t i = 0; i < cells; ++i) {
    range += static_cast<uint64_t>(reader->Signed());
    const uint32_t rows = reader->Small();
    const uint32_t not_at_end = reader->Small();
    if (range >= ranges || not_at_end > rows) reader->good = false;
    if (!reader->good) break;
    minute.cells.push_back({static_cast<uint32_t>(range), rows, rows - not_at_end});
  }
  return minute;
}

Error Damaged() { return Error(ErrorCode::kCorruption, "a part of a heat map cannot be read"); }

bool EndsBefore(const std::string& end, const std::string& other) {
  return !end.empty() && (other.empty() || end < other);
}

// The rows of each range.
std::vector<uint64_t> LoadsOf(const HeatChunk& chunk) {
  std::vector<uint64_t> loads(chunk.ranges.size());
  for (const HeatMinute& minute : chunk.minutes) {
    for (const HeatCell& cell : minute.cells) loads[cell.range] += cell.rows;
  }
  return loads;
}

// Gives every range the number in `number_of` that takes its place, and puts together what becomes
// one; numbers keep the order.
void Renumber(const std::vector<uint32_t>& number_of, HeatChunk* chunk) {
  for (HeatMinute& minute : chunk->minutes) {
    for (HeatCell& cell : minute.cells) cell.range = number_of[cell.range];
    std::sort(minute.cells.begin(), minute.cells.end(),
              [](const HeatCell& a, const HeatCell& b) { return a.range < b.range; });
    size_t kept = 0;
    for (const HeatCell& cell : minute.cells) {
      if (kept > 0 && minute.cells[kept - 1].range == cell.range) {
        minute.cells[kept - 1].rows += cell.rows;
        minute.cells[kept - 1].at_end += cell.at_end;
      } else {
        minute.cells[kept++] = cell;
      }
    }
    minute.cells.resize(kept);
  }
}

void SortRanges(HeatChunk* chunk) {
  std::vector<uint32_t> order(chunk->ranges.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return chunk->ranges[a].start < chunk->ranges[b].start;
  });
  std::vector<uint32_t> number_of(order.size());
  std::vector<KeyRange> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    number_of[order[i]] = static_cast<uint32_t>(i);
    sorted.push_back(std::move(chunk->ranges[order[i]]));
  }
  chunk->ranges = std::move(sorted);
  Renumber(number_of, chunk);
}

// Merges so many disjoint pairs of neighbours as are lightest.
void MergePairs(size_t pairs, HeatChunk* chunk) {
  const std::vector<uint64_t> loads = LoadsOf(*chunk);
  std::vector<uint32_t> lightest(loads.size() - 1);
  std::iota(lightest.begin(), lightest.end(), 0u);
  std::sort(lightest.begin(), lightest.end(), [&](uint32_t a, uint32_t b) {
    return loads[a] + loads[a + 1] < loads[b] + loads[b + 1];
  });
  std::vector<bool> joins_next(loads.size());
  for (const uint32_t at : lightest) {
    if (pairs == 0) break;
    if (joins_next[at + 1] || (at > 0 && joins_next[at - 1])) continue;
    joins_next[at] = true;
    --pairs;
  }
  std::vector<uint32_t> number_of(loads.size());
  std::vector<KeyRange> merged;
  for (size_t i = 0; i < loads.size(); ++i) {
    if (i > 0 && joins_next[i - 1]) {
      if (EndsBefore(merged.back().end, chunk->ranges[i].end)) {
        merged.back().end = std::move(chunk->ranges[i].end);
      }
    } else {
      merged.push_back(std::move(chunk->ranges[i]));
    }
    number_of[i] = static_cast<uint32_t>(merged.size() - 1);
  }
  chunk->ranges = std::move(merged);
  Renumber(number_of, chunk);
}

}  // namespace

void Coarsen(HeatChunk* chunk, size_t most) {
  SortRanges(chunk);
  while (chunk->ranges.size() > std::max<size_t>(most, 1)) {
    MergePairs(chunk->ranges.size() - most, chunk);
  }
}

std::string EncodeChunk(HeatChunk chunk, size_t most_bytes) {
  std::string bytes = Compressed(PlainBytes(chunk));
  while (bytes.size() > most_bytes && chunk.ranges.size() > 1) {
    Coarsen(&chunk, chunk.ranges.size() / 2);
    bytes = Compressed(PlainBytes(chunk));
  }
  return bytes;
}

Result<HeatChunk> DecodeChunk(std::string_view bytes) {
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > kMaxPlainBytes) {
    return Damaged();
  }
  std::string plain(static_cast<size_t>(size), '\0');
  const size_t read = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(read) || read != plain.size()) return Damaged();
  ChunkReader reader{plain};
  HeatChunk chunk;
  if (reader.Number() != kVersion) return Damaged();
  chunk.is_partition = reader.Number() != 0;
  const size_t ranges = reader.Count();
  for (size_t i = 0; i < ranges && reader.good; ++i) {
    std::string start = reader.Text();
    chunk.ranges.push_back({std::move(start), reader.Text()});
  }
  const size_t minutes = reader.Count();
  int64_t before = 0;
  for (size_t i = 0; i < minutes && reader.good; ++i) {
    chunk.minutes.push_back(ReadMinute(&reader, before, chunk.ranges.size()));
    before = chunk.minutes.back().minute;
  }
  if (!reader.good || !reader.rest.empty()) return Damaged();
  return chunk;
}

}  // namespace tallyd
