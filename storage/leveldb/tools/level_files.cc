#include "storage/leveldb/tools/level_files.h"

#include <leveldb/options.h>
#include <leveldb/table.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "storage/bytes/coding.h"
#include "storage/leveldb/env/log_scan.h"
#include "storage/leveldb/env/status.h"

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

// A WriteBatch: sequence:8 count:4, little-endian, then the changes.
bool ReadBatch(std::string_view batch, const LevelChangeSink& sink) {
  constexpr size_t kHeaderBytes = 12;
  if (batch.size() < kHeaderBytes) return false;
  LevelChange change;
  change.sequence = LittleEndian(batch.substr(0, 8));
  ByteReader in(batch.substr(kHeaderBytes));
  for (uint64_t left = LittleEndian(batch.substr(8, 4)); left > 0; --left) {
    uint8_t type = 0;
    change.value = {};
    if (!in.GetByte(&type) || type > kPut || !in.GetString(&change.key)) return false;
    if (type == kPut && !in.GetString(&change.value)) return false;
    change.removed = type == kRemoved;
    sink(change);
    ++change.sequence;
  }
  return in.done();
}

Finding DamageOf(const std::string& path, std::string problem) {
  Finding finding;
  finding.file = path;
  finding.problem = std::move(problem);
  return finding;
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
    findings->push_back(DamageOf(path, done.error().message()));
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
      findings->push_back(DamageOf(path, "it has a key that LevelDB does not write"));
      continue;
    }
    if (!damage && !it->status().ok()) {
      damage = DamageOf(path, it->status().ToString());
      damage->first_key = last;
      damage->last_key = change.key;
    }
    last = change.key;
    change.value = ToView(it->value());
    sink(change);
  }
  if (!damage && !it->status().ok()) {
    damage = DamageOf(path, it->status().ToString());
    damage->first_key = last;
  }
  if (damage) findings->push_back(std::move(*damage));
}

void ReadLogFile(leveldb::Env* env, const std::string& path, const LevelChangeSink& sink,
                 std::vector<Finding>* findings) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, path, &bytes));
  if (!read) {
    findings->push_back(DamageOf(path, read.error().message()));
    return;
  }
  const LogScan scan =
      ScanLog(bytes, [&](std::string_view batch) { return ReadBatch(batch, sink); });
  if (scan.clean) return;
  Finding damage = DamageOf(path, "its records cannot be read");
  damage.offset = scan.good_end;
  damage.bytes = scan.good_after.value_or(bytes.size()) - scan.good_end;
  findings->push_back(std::move(damage));
}

}  // namespace tallyd
