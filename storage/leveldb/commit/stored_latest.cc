#include "storage/leveldb/commit/stored_latest.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/database.h"

namespace tallyd {
namespace {

constexpr unsigned kMaxThreads = 8;

struct Piece {
  KeyRange keys;
  std::unique_ptr<LatestLoader> loader;
  Status read;
};

Status ReadPiece(leveldb::DB* base, Piece* piece) {
  const auto it = Database::NewIterator(base);
  const leveldb::Slice end = ToSlice(piece->keys.end);
  for (it->Seek(ToSlice(piece->keys.start)); it->Valid() && it->key().compare(end) < 0;
       it->Next()) {
    const Status added = piece->loader->AddStored(ToView(it->key()), ToView(it->value()));
    if (!added) return added;
  }
  return FromLevelDb(it->status());
}

std::vector<Piece> PiecesOf(leveldb::DB* base, const std::map<TableId, TableInfo>& tables,
                            const LatestLoader& loader, uint64_t piece_bytes) {
  std::vector<Piece> pieces;
  for (const auto& [id, table] : tables) {
    if (table.mode == TableMode::kHistory) continue;
    const KeyRange all{TablePrefix(KeySpace::kLatest, id), TableEnd(KeySpace::kLatest, id)};
    for (KeyRange& keys : CutByBytes(base, all, piece_bytes)) {
      pieces.push_back({std::move(keys), loader.Another(), {}});
    }
  }
  return pieces;
}

uint64_t BytesBefore(leveldb::DB* db, const KeyRange& range, std::string_view end) {
  const leveldb::Range before(ToSlice(range.start), ToSlice(end));
  uint64_t bytes = 0;
  db->GetApproximateSizes(&before, 1, &bytes);
  return bytes;
}

// The first eight bytes behind the prefix, as a number that sorts like them.
uint64_t HeadOf(std::string_view key, size_t prefix) {
  std::string head(key.substr(std::min(prefix, key.size()), sizeof(uint64_t)));
  head.resize(sizeof(uint64_t));
  return DecodeU64(head.data());
}

}  // namespace

std::vector<KeyRange> CutByBytes(leveldb::DB* db, const KeyRange& range, uint64_t piece_bytes) {
  const uint64_t pieces = BytesBefore(db, range, range.end) / piece_bytes + 1;
  const auto it = Database::NewIterator(db);
  it->Seek(ToSlice(range.start));
  if (pieces == 1 || !it->Valid()) return {range};
  const std::string first = it->key().ToString();
  it->Seek(ToSlice(range.end));
  it->Valid() ? it->Prev() : it->SeekToLast();
  if (!it->Valid()) return {range};
  const std::string last = it->key().ToString();
  const auto differ = std::ranges::mismatch(first, last);
  const auto common = static_cast<size_t>(differ.in1 - first.begin());
  std::vector<KeyRange> cut{range};
  for (uint64_t piece = 1; piece < pieces; ++piece) {
    uint64_t begin = HeadOf(first, common);
    uint64_t end = HeadOf(last, common);
    std::string key;
    while (begin <= end) {
      const uint64_t middle = begin + (end - begin) / 2;
      key.assign(first, 0, common);
      PutU64(&key, middle);
      if (BytesBefore(db, range, key) >= piece * piece_bytes) {
        if (middle == begin) break;
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    if (key <= cut.back().start || key >= range.end) continue;
    cut.back().end = key;
    cut.push_back({key, range.end});
  }
  return cut;
}

Status ReadStoredLatest(leveldb::DB* base, const std::map<TableId, TableInfo>& tables,
                        LatestLoader* loader, uint64_t piece_bytes) {
  std::vector<Piece> pieces = PiecesOf(base, tables, *loader, piece_bytes);
  std::atomic<size_t> next = 0;
  const auto read = [&] {
    for (size_t piece = next++; piece < pieces.size(); piece = next++) {
      pieces[piece].read = ReadPiece(base, &pieces[piece]);
    }
  };
  const size_t threads = std::min<size_t>(
      std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads), pieces.size());
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, read));
  read();
  for (std::future<void>& other : others) other.get();
  for (Piece& piece : pieces) {
    if (!piece.read) return piece.read;
    loader->Append(std::move(*piece.loader));
  }
  return {};
}

}  // namespace tallyd
