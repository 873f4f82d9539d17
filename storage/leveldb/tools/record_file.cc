#include "storage/leveldb/tools/record_file.h"

#include <algorithm>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr std::string_view kMagic = "tallyrc1";
constexpr size_t kChunkBytes = 256u << 10;
constexpr size_t kHeaderBytes = 16;  // size:u64 checksum:u64
// A chunk ends behind the record that fills it.
constexpr uint64_t kMaxChunkBytes = 1u << 30;

Error Damage(const std::string& path, const char* what) {
  return Error(ErrorCode::kCorruption, path + ": " + what);
}

class Reader {
 public:
  Reader(std::string path, std::unique_ptr<leveldb::SequentialFile> file, uint64_t bytes)
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
  Reader file(path, std::unique_ptr<leveldb::SequentialFile>(opened), size);
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
