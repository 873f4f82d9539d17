#include "storage/leveldb/env/marked_env.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "storage/bytes/coding.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// Two notes take turns, each in a disk sector of its own: a torn write costs one of them.
constexpr uint64_t kSlots = 2;
constexpr uint64_t kSlotBytes = 512;
constexpr size_t kNoteBytes = 6 * sizeof(uint64_t);
constexpr std::string_view kManifestPrefix = "MANIFEST-";

std::optional<uint64_t> Number(std::string_view digits, std::string_view suffix) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const std::string_view rest(end, static_cast<size_t>(digits.data() + digits.size() - end));
  if (error != std::errc() || rest != suffix) return std::nullopt;
  return number;
}

std::optional<SyncedNote> DecodeNote(std::string_view bytes) {
  ByteReader in(bytes);
  SyncedNote note;
  uint64_t checksum = 0;
  const bool whole = in.GetU64(&note.generation) && in.GetU64(&note.log.number) &&
                     in.GetU64(&note.log.bytes) && in.GetU64(&note.manifest.number) &&
                     in.GetU64(&note.manifest.bytes) && in.GetU64(&checksum);
  if (!whole || checksum != XXH3_64bits(bytes.data(), kNoteBytes - sizeof checksum)) {
    return std::nullopt;
  }
  return note;
}

SyncedNotes DecodeNotes(std::string_view bytes) {
  SyncedNotes notes;
  // The first note ever made stands in the last slot: a file that is shorter was cut.
  notes.damaged = bytes.size() < (kSlots - 1) * kSlotBytes + kNoteBytes;
  for (uint64_t slot = 0; slot < kSlots && bytes.size() > slot * kSlotBytes; ++slot) {
    const std::string_view stored = bytes.substr(slot * kSlotBytes, kNoteBytes);
    const std::optional<SyncedNote> note = DecodeNote(stored);
    if (!note) {
      const bool never_made = stored.find_first_not_of('\0') == std::string_view::npos;
      notes.damaged = notes.damaged || !never_made;
    } else if (note->generation > notes.last.generation) {
      notes.before = std::exchange(notes.last, *note);
    } else {
      notes.before = *note;
    }
  }
  return notes;
}

std::string PathOf(const std::string& directory) {
  return directory + "/" + std::string(kSyncedName);
}

}  // namespace

std::optional<uint64_t> LogNumber(std::string_view name) { return Number(name, ".log"); }

std::optional<uint64_t> ManifestNumber(std::string_view name) {
  if (!name.starts_with(kManifestPrefix)) return std::nullopt;
  return Number(name.substr(kManifestPrefix.size()), "");
}

std::string EncodeSyncedNote(const SyncedNote& note) {
  std::string bytes;
  for (const uint64_t field : {note.generation, note.log.number, note.log.bytes,
                               note.manifest.number, note.manifest.bytes}) {
    PutU64(&bytes, field);
  }
  PutU64(&bytes, XXH3_64bits(bytes.data(), bytes.size()));
  return bytes;
}

Result<SyncedNotes> SyncedNotes::Read(leveldb::Env* env, const std::string& directory) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, PathOf(directory), &bytes));
  if (!read && read.error().code() == ErrorCode::kNotFound) return SyncedNotes();
  if (!read) return read.error();
  return DecodeNotes(bytes);
}

uint64_t SyncedNotes::BytesOf(SyncedFile SyncedNote::*file, uint64_t number) const {
  if ((last.*file).number == number) return (last.*file).bytes;
  return (before.*file).number == number ? (before.*file).bytes : 0;
}

class MarkedEnv::File final : public leveldb::WritableFile {
 public:
  File(MarkedEnv* env, std::string directory, SyncedFile SyncedNote::*kind, uint64_t number,
       leveldb::WritableFile* file)
      : env_(env), directory_(std::move(directory)), kind_(kind), written_{number, 0}, file_(file) {
    if (kind_ == &SyncedNote::log) env_->SetLog(directory_, this);
  }
  ~File() override {
    if (kind_ == &SyncedNote::log) env_->ForgetLog(directory_, this);
  }

  leveldb::Status Append(const leveldb::Slice& data) override {
    written_.bytes += data.size();
    return file_->Append(data);
  }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override {
    const leveldb::Status synced = file_->Sync();
    return synced.ok() ? env_->NoteSync(directory_, kind_, written_) : synced;
  }
  leveldb::Status Close() override { return file_->Close(); }

 private:
  MarkedEnv* const env_;
  const std::string directory_;
  SyncedFile SyncedNote::*const kind_;
  SyncedFile written_;
  const std::unique_ptr<leveldb::WritableFile> file_;
};

leveldb::Status MarkedEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  const size_t slash = name.rfind('/');
  const std::string_view base_name = std::string_view(name).substr(slash + 1);
  const std::optional<uint64_t> log = LogNumber(base_name);
  const std::optional<uint64_t> number = log ? log : ManifestNumber(base_name);
  if (slash == std::string::npos || !number) return env_->NewWritableFile(name, file);
  *file = nullptr;
  const std::string directory = name.substr(0, slash);
  const auto kind = log ? &SyncedNote::log : &SyncedNote::manifest;
  leveldb::Status done = Forget(directory, kind, *number);
  leveldb::WritableFile* opened = nullptr;
  if (done.ok()) done = env_->NewWritableFile(name, &opened);
  if (done.ok()) *file = new File(this, directory, kind, *number, opened);
  return done;
}

leveldb::Status MarkedEnv::SyncLog(const std::string& directory) {
  File* log = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = logs_.find(directory); found != logs_.end()) log = found->second;
  }
  return log != nullptr ? log->Sync() : leveldb::Status::IOError(directory, "no log is open there");
}

void MarkedEnv::SetLog(const std::string& directory, File* log) {
  const std::lock_guard lock(mutex_);
  logs_[directory] = log;
}

void MarkedEnv::ForgetLog(const std::string& directory, const File* log) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(directory);
  if (found != logs_.end() && found->second == log) logs_.erase(found);
}

leveldb::Status MarkedEnv::RemoveFile(const std::string& name) {
  const size_t slash = name.rfind('/');
  const bool is_note = slash != std::string::npos && name.substr(slash + 1) == kSyncedName;
  if (is_note) LetGo(name.substr(0, slash));
  return env_->RemoveFile(name);
}

leveldb::Status MarkedEnv::RemoveDir(const std::string& name) {
  LetGo(name);
  return env_->RemoveDir(name);
}

leveldb::Status MarkedEnv::LockFile(const std::string& name, leveldb::FileLock** lock) {
  const leveldb::Status locked = env_->LockFile(name, lock);
  if (locked.ok()) LetGo(name.substr(0, name.rfind('/')));
  return locked;
}

void MarkedEnv::LetGo(const std::string& path) {
  const std::lock_guard lock(mutex_);
  directories_.erase(path);
}

std::shared_ptr<MarkedEnv::Directory> MarkedEnv::Find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Directory>& directory = directories_[path];
  if (!directory) directory = std::make_shared<Directory>();
  return directory;
}

leveldb::Status MarkedEnv::Read(const std::string& path, Directory* directory) {
  if (directory->is_read) return leveldb::Status::OK();
  std::string bytes;
  const leveldb::Status read = leveldb::ReadFileToString(env_, PathOf(path), &bytes);
  if (read.ok()) directory->notes = DecodeNotes(bytes);
  directory->is_read = read.ok() || read.IsNotFound();
  return directory->is_read ? leveldb::Status::OK() : read;
}

// Over the note before the last: until this one is whole, the last is.
leveldb::Status MarkedEnv::Write(const std::string& path, Directory* directory, SyncedNote note,
                                 bool sync) {
  note.generation = directory->notes.last.generation + 1;
  leveldb::Status written;
  if (!directory->file) written = env_->NewPlacesFile(PathOf(path), &directory->file);
  if (written.ok()) {
    written = directory->file->WriteAt(note.generation % kSlots * kSlotBytes,
                                       EncodeSyncedNote(note), sync);
  }
  if (written.ok()) directory->notes.before = std::exchange(directory->notes.last, note);
  return written;
}

leveldb::Status MarkedEnv::NoteSync(const std::string& path, SyncedFile SyncedNote::*file,
                                    SyncedFile synced) {
  const std::shared_ptr<Directory> directory = Find(path);
  const std::lock_guard lock(directory->mutex);
  const leveldb::Status read = Read(path, directory.get());
  if (!read.ok()) return read;
  SyncedNote note = directory->notes.last;
  note.*file = synced;
  return Write(path, directory.get(), note, path == base_ || file == &SyncedNote::manifest);
}

leveldb::Status MarkedEnv::Forget(const std::string& path, SyncedFile SyncedNote::*file,
                                  uint64_t number) {
  const std::shared_ptr<Directory> directory = Find(path);
  const std::lock_guard lock(directory->mutex);
  leveldb::Status done = Read(path, directory.get());
  while (done.ok() && directory->notes.BytesOf(file, number) > 0) {
    SyncedNote note = directory->notes.last;
    if ((note.*file).number == number) note.*file = {};
    done = Write(path, directory.get(), note, true);
  }
  return done;
}

}  // namespace tallyd
