#include "storage/leveldb/commit/stored_latest.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "storage/big_endian_head.h"
#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/database.h"

namespace tallyd {
namespace {

constexpr unsigned kMaxThreads = 8;
// Each takes some 64 looks at the sizes of base's files.
constexpr uint64_t kMaxPieces = 64;

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

// Small tables share a piece with those before them.
std::vector<Piece> PiecesOf(leveldb::DB* base, const std::map<TableId, TableInfo>& tables,
                            const LatestLoader& loader, uint64_t piece_bytes) {
  std::vector<Piece> pieces;
  uint64_t last_bytes = piece_bytes;  // Of the last piece, while it may take more.
  for (const auto& [id, table] : tables) {
    if (table.mode == TableMode::kHistory) continue;
    const KeyRange all = DatabaseRange(KeySpace::kLatest, id, {});
    const uint64_t bytes = Database::BytesOf(base, all.start, all.end);
    if (last_bytes + bytes < piece_bytes) {
      pieces.back().keys.end = all.end;
      last_bytes += bytes;
      continue;
    }
    last_bytes = bytes;
    for (KeyRange& keys : CutByBytes(base, all, piece_bytes)) {
      pieces.push_back({std::move(keys), loader.Another(), {}});
    }
  }
  return pieces;
}

}  // namespace

std::vector<KeyRange> CutByBytes(leveldb::DB* db, const KeyRange& range, uint64_t piece_bytes) {
  const uint64_t bytes = Database::BytesOf(db, range.start, range.end);
  piece_bytes = std::max(piece_bytes, bytes / kMaxPieces + 1);
  if (bytes < piece_bytes) return {range};
  const auto it = Database::NewIterator(db);
  it->Seek(ToSlice(range.start));
  if (!it->Valid()) return {range};
  const std::string first = it->key().ToString();
  it->Seek(ToSlice(range.end));
  it->Valid() ? it->Prev() : it->SeekToLast();
  if (!it->Valid()) return {range};
  const std::string last = it->key().ToString();
  const auto differ = std::ranges::mismatch(first, last);
  const auto common = static_cast<size_t>(differ.in1 - first.begin());
  const auto key_of = [&](uint64_t head) {
    std::string key = first.substr(0, common);
    PutU64(&key, head);
    return key;
  };
  uint64_t head = BigEndianHead(std::string_view(first).substr(common));
  const uint64_t last_head = BigEndianHead(std::string_view(last).substr(common));
  std::vector<KeyRange> cut{range};
  for (uint64_t size = piece_bytes; size < bytes; size += piece_bytes) {
    // The first head that has so much before it.
    for (uint64_t end = last_head; head < end;) {
      const uint64_t middle = head + (end - head) / 2;
      if (Database::BytesOf(db, range.start, key_of(middle)) >= size) {
        end = middle;
      } else {
        head = middle + 1;
      }
    }
    std::string key = key_of(head);
    if (key <= cut.back().start || key >= range.end) continue;
    cut.back().end = key;
    cut.push_back({std::move(key), range.end});
  }
  return cut;
}

Status ReadStoredLatest(leveldb::DB* base, const std::map<TableId, TableInfo>& tables,
                        LatestLoader* loader, uint64_t piece_bytes) {
  std::vector<Piece> pieces = PiecesOf(base, tables, *loader, piece_bytes);
  std::atomic<size_t> next = 0;
  const auto read = [&] {
    for (size_t at = next++; at < pieces.size(); at = next++) {
      pieces[at].read = ReadPiece(base, &pieces[at]);
      if (!pieces[at].read) next = pieces.size();
    }
  };
  const size_t threads = std::min<size_t>(
      std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads), pieces.size());
  std::vector<std::future<void>> others;
  try {
    // Not by this thread, which goes on: what it allocates, and others free, nobody else can use.
    for (size_t i = 0; i < threads; ++i) others.push_back(std::async(std::launch::async, read));
  } catch (const std::system_error&) {
    // The process may have no more threads: those that there are read all.
  }
  if (others.empty()) read();
  for (std::future<void>& other : others) other.get();
  for (Piece& piece : pieces) {
    if (!piece.read) return piece.read;
    loader->Append(std::move(*piece.loader));
  }
  return {};
}

}  // namespace tallyd
