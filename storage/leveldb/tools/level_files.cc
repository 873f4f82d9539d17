#include "storage/leveldb/tools/level_files.h"

#include <leveldb/db.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/wal_check.h"

namespace tallyd {
namespace {

// Of a key in a table file: sequence << 8 | type, little-endian, behind the key.
constexpr size_t kTrailerBytes = 8;
constexpr uint8_t kRemoved = 0;
constexpr uint8_t kPut = 1;

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t v = 0;
  for (size_t i = bytes.size(); i > 0; --i) v = v << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return v;
}

bool ParseTableKey(std::string_view stored, LevelChange* change) {
  if (stored.size() < kTrailerBytes) return false;
  const uint64_t trailer = LittleEndian(stored.substr(stored.size() - kTrailerBytes));
  change->key = stored.substr(0, stored.size() - kTrailerBytes);
  change->sequence = trailer >> 8;
  change->removed = (trailer & 0xff) == kRemoved;
  return (trailer & 0xff) <= kPut;
}

// A WriteBatch: sequence:8 count:4, little-endian, then the changes: all of them or none.
bool ReadBatch(std::string_view batch, const LevelChangeSink& sink) {
  constexpr size_t kHeaderBytes = 12;
  if (batch.size() < kHeaderBytes) return false;
  std::vector<LevelChange> changes;
  uint64_t sequence = LittleEndian(batch.substr(0, 8));
  ByteReader in(batch.substr(kHeaderBytes));
  for (uint64_t left = LittleEndian(batch.substr(8, 4)); left > 0; --left) {
    LevelChange change;
    uint8_t type = 0;
    change.sequence = sequence++;
    if (!in.GetByte(&type) || type > kPut || !in.GetString(&change.key)) return false;
    if (type == kPut && !in.GetString(&change.value)) return false;
    change.removed = type == kRemoved;
    changes.push_back(change);
  }
  if (!in.done()) return false;
  for (const LevelChange& change : changes) sink(change);
  return true;
}

}  // namespace

Result<LevelFileNames> ListLevelFiles(leveldb::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(directory, &names));
  if (!listed) return listed.error();
  std::sort(names.begin(), names.end());
  LevelFileNames files;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (name.ends_with(".ldb") || name.ends_with(".sst")) files.tables.push_back(path);
    if (name.ends_with(".log")) files.logs.push_back(path);
  }
  return files;
}

void ReadTableFile(leveldb::Env* env, const std::string& path, const LevelChangeSink& sink,
                   std::vector<Finding>* findings) {
  leveldb::Options options;
  options.env = env;
  options.paranoid_checks = true;
  uint64_t size = 0;
  leveldb::RandomAccessFile* opened = nullptr;
  Status done = FromLevelDb(env->GetFileSize(path, &size));
  if (done) done = FromLevelDb(env->NewRandomAccessFile(path, &opened));
  const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
  leveldb::Table* read = nullptr;
  if (done) done = FromLevelDb(leveldb::Table::Open(options, file.get(), size, &read));
  const std::unique_ptr<leveldb::Table> table(read);
  if (!done) {
    findings->push_back(FindingOf(path, done.error().message()));
    return;
  }
  leveldb::ReadOptions reading;
  reading.verify_checksums = true;
  reading.fill_cache = false;
  // Behind a block that cannot be read it goes on by itself.
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(reading));
  std::string last;
  std::optional<Finding> damage;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    LevelChange change;
    if (!ParseTableKey(ToView(it->key()), &change)) {
      findings->push_back(FindingOf(path, "it has a key that LevelDB does not write"));
      continue;
    }
    if (!damage && !it->status().ok()) {
      damage = FindingOf(path, it->status().ToString());
      damage->first_key = last;
      damage->last_key = change.key;
    }
    last = change.key;
    change.value = ToView(it->value());
    sink(change);
  }
  if (!damage && !it->status().ok()) {
    damage = FindingOf(path, it->status().ToString());
    damage->first_key = last;
  }
  if (damage) findings->push_back(std::move(*damage));
}

void ReadLogFile(leveldb::Env* env, const std::string& path, const LevelChangeSink& sink,
                 std::vector<Finding>* findings) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, path, &bytes));
  if (!read) {
    findings->push_back(FindingOf(path, read.error().message()));
    return;
  }
  for (uint64_t from = 0; from < bytes.size();) {
    const LogScan scan = ScanLog(
        bytes, [&](std::string_view batch) { return ReadBatch(batch, sink); }, from);
    if (scan.clean) return;
    Finding damage = FindingOf(path, "its records cannot be read");
    damage.offset = scan.good_end;
    damage.bytes = scan.good_after.value_or(scan.end) - scan.good_end;
    from = scan.good_after.value_or(bytes.size());
    findings->push_back(std::move(damage));
  }
}

namespace {

// By LevelDB's own rules, after the store's have found nothing: its manifest says what counts.
Status ReadOpened(StoreEnv* env, const std::string& directory, Sync sync, LevelRecords* level) {
  OverlayEnv overlay(env);
  const Result<WalCheck> checked = CheckWriteAheadLogs(&overlay, directory, sync);
  if (!checked) return checked.error();
  if (!checked->exists) return Error(ErrorCode::kNotFound, directory + " has no CURRENT");
  Status done = CutTails(&overlay, checked->tails);
  if (!done) return done;
  leveldb::Options options;
  options.env = &overlay;
  options.paranoid_checks = true;
  leveldb::DB* opened = nullptr;
  done = FromLevelDb(leveldb::DB::Open(options, directory, &opened));
  if (!done) return done;
  const std::unique_ptr<leveldb::DB> db(opened);
  overlay.Freeze();
  leveldb::ReadOptions reading;
  reading.verify_checksums = true;
  reading.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> it(db->NewIterator(reading));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    level->records[it->key().ToString()] = it->value().ToString();
  }
  return FromLevelDb(it->status());
}

void ReadFiles(StoreEnv* env, const std::string& directory, LevelRecords* level,
               std::vector<Finding>* findings) {
  struct Latest {
    uint64_t sequence = 0;
    bool removed = false;
  };
  std::unordered_map<std::string, Latest> latest;
  const auto sink = [&](const LevelChange& change) {
    const auto [known, added] = latest.try_emplace(std::string(change.key));
    if (!added && known->second.sequence > change.sequence) return;
    known->second = {change.sequence, change.removed};
    if (change.removed) {
      level->records.erase(known->first);
    } else {
      level->records[known->first] = change.value;
    }
  };
  const Result<LevelFileNames> files = ListLevelFiles(env, directory);
  if (!files) return findings->push_back(FindingOf(directory, files.error().message()));
  for (const std::string& table : files->tables) ReadTableFile(env, table, sink, findings);
  for (const std::string& log : files->logs) ReadLogFile(env, log, sink, findings);
}

}  // namespace

LevelRecords ReadLevel(StoreEnv* env, const std::string& directory, Sync sync,
                       std::vector<Finding>* findings) {
  LevelRecords level;
  const Status opened = ReadOpened(env, directory, sync, &level);
  level.whole = opened.has_value();
  if (level.whole) return level;
  findings->push_back(FindingOf(directory, opened.error().message()));
  level.records.clear();
  ReadFiles(env, directory, &level, findings);
  return level;
}

namespace {

constexpr std::string_view kMagic = "tallyrc1";
constexpr size_t kChunkBytes = 256u << 10;
constexpr size_t kHeaderBytes = 16;  // size:u64 checksum:u64
// A chunk ends behind the record that fills it.
constexpr uint64_t kMaxChunkBytes = 1u << 30;

Error Damage(const std::string& path, const char* what) {
  return Error(ErrorCode::kCorruption, path + ": " + what);
}

class RecordFileReader {
 public:
  RecordFileReader(std::string path, std::unique_ptr<leveldb::SequentialFile> file, uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), left_(bytes) {}

  uint64_t left() const { return left_; }
  uint64_t checksum() const { return checksum_; }

  Status Read(uint64_t size, std::string* bytes) {
    if (size > left_) return Damage(path_, "it ends too early");
    bytes->resize(size);
    for (size_t got = 0; got < size;) {
      leveldb::Slice part;
      const Status read = FromLevelDb(file_->Read(size - got, &part, bytes->data() + got));
      if (!read) return read;
      if (part.empty()) return Damage(path_, "it ends too early");
      if (part.data() != bytes->data() + got) {
        std::copy(part.data(), part.data() + part.size(), bytes->data() + got);
      }
      got += part.size();
    }
    left_ -= size;
    return {};
  }
  // Of all chunks, one after the other: what their headers say of them.
  void Take(uint64_t checksum) {
    std::string both;
    PutU64(&both, checksum_);
    PutU64(&both, checksum);
    checksum_ = Checksum64(both);
  }

 private:
  const std::string path_;
  const std::unique_ptr<leveldb::SequentialFile> file_;
  uint64_t left_;
  uint64_t checksum_ = 0;
};

}  // namespace

Result<std::unique_ptr<RecordFileWriter>> RecordFileWriter::Create(leveldb::Env* env,
                                                                   const std::string& path) {
  leveldb::WritableFile* file = nullptr;
  const Status opened = FromLevelDb(env->NewWritableFile(path, &file));
  if (!opened) return opened.error();
  std::unique_ptr<RecordFileWriter> writer(
      new RecordFileWriter(std::unique_ptr<leveldb::WritableFile>(file)));
  const Status begun = writer->Append(kMagic);
  if (!begun) return begun.error();
  return writer;
}

Status RecordFileWriter::Append(std::string_view bytes) {
  bytes_ += bytes.size();
  return FromLevelDb(file_->Append(ToSlice(bytes)));
}

Status RecordFileWriter::WriteChunk(std::string_view payload) {
  std::string header;
  PutU64(&header, payload.size());
  PutU64(&header, Checksum64(payload));
  std::string both;
  PutU64(&both, checksum_);
  both.append(header.substr(sizeof(uint64_t)));
  checksum_ = Checksum64(both);
  const Status written = Append(header);
  return written ? Append(payload) : written;
}

Status RecordFileWriter::Add(std::string_view key, std::string_view value) {
  PutString(&chunk_, key);
  PutString(&chunk_, value);
  ++records_;
  if (chunk_.size() < kChunkBytes) return {};
  const Status written = WriteChunk(chunk_);
  chunk_.clear();
  return written;
}

Status RecordFileWriter::Finish() {
  Status done = chunk_.empty() ? Status() : WriteChunk(chunk_);
  std::string end(1, '\0');  // A key of no bytes, which no record has.
  PutU64(&end, records_);
  if (done) done = WriteChunk(end);
  if (done) done = FromLevelDb(file_->Sync());
  return done ? FromLevelDb(file_->Close()) : done;
}

Status ReadRecordFile(
    leveldb::Env* env, const std::string& path, uint64_t bytes, uint64_t checksum,
    const std::function<Status(std::string_view key, std::string_view value)>& record) {
  uint64_t size = 0;
  leveldb::SequentialFile* opened = nullptr;
  Status done = FromLevelDb(env->GetFileSize(path, &size));
  if (done) done = FromLevelDb(env->NewSequentialFile(path, &opened));
  if (!done) return done;
  RecordFileReader file(path, std::unique_ptr<leveldb::SequentialFile>(opened), size);
  if (size != bytes) return Damage(path, "it has another size");
  std::string part;
  done = file.Read(kMagic.size(), &part);
  if (done && part != kMagic) return Damage(path, "it is no file of records");
  uint64_t records = 0;
  while (done) {
    done = file.Read(kHeaderBytes, &part);
    if (!done) return done;
    const uint64_t chunk_bytes = DecodeU64(part.data());
    const uint64_t chunk_checksum = DecodeU64(part.data() + sizeof(uint64_t));
    if (chunk_bytes > kMaxChunkBytes) return Damage(path, "it is malformed");
    done = file.Read(chunk_bytes, &part);
    if (!done) return done;
    if (Checksum64(part) != chunk_checksum) return Damage(path, "it is not what was written");
    file.Take(chunk_checksum);
    ByteReader in(part);
    while (done && !in.done()) {
      std::string_view key;
      std::string_view value;
      if (!in.GetString(&key)) return Damage(path, "it is malformed");
      if (key.empty()) {
        uint64_t expected = 0;
        const bool whole = in.GetU64(&expected) && in.done() && file.left() == 0;
        if (whole && expected == records && file.checksum() == checksum) return {};
        return Damage(path, "its end is not what was written");
      }
      if (!in.GetString(&value)) return Damage(path, "it is malformed");
      ++records;
      done = record(key, value);
    }
  }
  return done;
}

}  // namespace tallyd
