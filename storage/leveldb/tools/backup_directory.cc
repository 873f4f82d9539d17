#include "storage/leveldb/tools/backup_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint32_t kVersion = 1;
constexpr char kStoreName[] = "STORE";  // Whose backups the directory takes.
constexpr std::string_view kMomentPrefix = "moment-";
constexpr std::string_view kChecksumLine = "checksum ";
constexpr size_t kHexDigits = 16;
constexpr std::string_view kHeadPrefix = "head-";
constexpr std::string_view kRecordsSuffix = ".records";

Error Damage(const std::string& what) {
  return Error(ErrorCode::kCorruption, "the manifest of the backup " + what);
}

std::string Hex(uint64_t number) { return fmt::format("{:016x}", number); }

uint64_t FromHex(const std::string& text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

// A name that leads nowhere else.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && !name.starts_with('.');
}

Result<BackupManifest> FromJson(const Json& json) {
  if (json.at("backup").get<uint32_t>() > kVersion ||
      json.at("format").get<uint32_t>() > kFormatVersion) {
    return Error(ErrorCode::kConflict, "the backup was made by a newer tallyd");
  }
  BackupManifest manifest;
  manifest.store = json.at("store").get<std::string>();
  manifest.made = json.at("made_us").get<TimeUs>();
  manifest.last_sequence = json.at("last_sequence").get<uint64_t>();
  if (json.contains("opening")) {
    manifest.opening = FromHex(json.at("opening").at(0).get<std::string>());
    manifest.openings = json.at("opening").at(1).get<uint64_t>();
  }
  manifest.moment = json.at("moment").get<uint64_t>();
  for (const Json& one : json.at("records")) {
    manifest.records.push_back({one.at(0).get<std::string>(), one.at(1).get<uint64_t>(),
                                FromHex(one.at(2).get<std::string>())});
    if (!IsPlainName(manifest.records.back().name)) return Damage("names a file elsewhere");
  }
  for (const Json& one : json.at("blocks")) {
    manifest.blocks.push_back({one.at(0).get<uint64_t>(), one.at(1).get<uint64_t>(),
                               FromHex(one.at(2).get<std::string>())});
  }
  return manifest;
}

}  // namespace

uint64_t BackupManifest::bytes() const {
  uint64_t bytes = 0;
  for (const Records& file : records) bytes += file.bytes;
  for (const Blocks& file : blocks) bytes += file.bytes;
  return bytes;
}

std::string EncodeManifest(const BackupManifest& manifest) {
  Json json;
  json["backup"] = kVersion;
  json["format"] = kFormatVersion;
  json["store"] = manifest.store;
  json["made"] = FormatRfc3339(manifest.made);
  json["made_us"] = manifest.made;
  json["last_sequence"] = manifest.last_sequence;
  if (manifest.opening != 0) {
    json["opening"] = Json::array({Hex(manifest.opening), manifest.openings});
  }
  json["moment"] = manifest.moment;
  json["records"] = Json::array();
  for (const auto& file : manifest.records) {
    json["records"].push_back(Json::array({file.name, file.bytes, Hex(file.checksum)}));
  }
  json["blocks"] = Json::array();
  for (const auto& file : manifest.blocks) {
    json["blocks"].push_back(Json::array({file.number, file.bytes, Hex(file.checksum)}));
  }
  std::string text = json.dump() + "\n";
  text += fmt::format("{}{}\n", kChecksumLine, Hex(Checksum64(text)));
  return text;
}

Result<BackupManifest> DecodeManifest(std::string_view text) {
  const size_t line_bytes = kChecksumLine.size() + kHexDigits + 1;
  if (text.size() < line_bytes) return Damage("is not complete");
  const std::string_view body = text.substr(0, text.size() - line_bytes);
  const std::string line = fmt::format("{}{}\n", kChecksumLine, Hex(Checksum64(body)));
  if (text.substr(body.size()) != line) return Damage("is not what was written");
  try {
    return FromJson(Json::parse(body));
  } catch (const Json::exception& error) {
    return Damage(std::string("is malformed: ") + error.what());
  }
}

std::string MomentName(uint64_t moment) { return fmt::format("{}{:06}", kMomentPrefix, moment); }

std::string HeadRecordsName(uint64_t head) {
  return fmt::format("{}{:06}{}", kHeadPrefix, head, kRecordsSuffix);
}

uint64_t HeadOfRecords(std::string_view name) {
  uint64_t number = 0;
  if (!name.starts_with(kHeadPrefix) || !name.ends_with(kRecordsSuffix)) return 0;
  std::from_chars(name.data() + kHeadPrefix.size(), name.data() + name.size(), number);
  return number;
}

std::string BlocksName(const BackupManifest::Blocks& file) {
  return fmt::format("{:06}-{}.blocks", file.number, Hex(file.checksum));
}

Status CheckBackupPlace(const std::string& to, const std::string& store) {
  // What the system takes for the end of a path is one of them.
  const bool any_control =
      std::any_of(to.begin(), to.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (any_control) return Invalid("the path of the backup has control bytes");
  const fs::path path(to);
  if (!path.is_absolute() || path != path.lexically_normal() || !path.has_filename()) {
    return Invalid(fmt::format("\"{}\" is no absolute path without \"..\" and \"//\"", to));
  }
  std::error_code error;
  const fs::path parent = fs::canonical(path.parent_path(), error);
  if (error) {
    return Invalid(fmt::format("{}: {}", path.parent_path().string(), error.message()));
  }
  const fs::path real = parent / path.filename();
  const fs::path data = fs::weakly_canonical(store, error);
  if (IsWithin(real, data) || IsWithin(data, real)) {
    return Invalid(fmt::format("{} and the data in {} lie in each other", to, store));
  }
  // As a mount makes it: what no backup names is removed there.
  for (const char* part : {"", "blocks", "heads", "lost"}) {
    const bool is_link = fs::is_symlink(real / "blocks", error);  // Take tells of these.
    if (is_link || !fs::equivalent(real / "blocks", data / part, error)) continue;
    return Invalid(fmt::format("{}/blocks is the store's own {}", to, (data / part).string()));
  }
  const fs::file_status status = fs::symlink_status(real, error);
  if (!fs::exists(status) || fs::is_directory(status)) return {};
  return Error(ErrorCode::kConflict, to + " is there, and is no directory");
}

Status CheckBackupIsBelow(const std::string& to, const std::string& directory) {
  const fs::path path(to);
  std::error_code error;
  const fs::path below = fs::canonical(directory, error);
  if (error) {
    return Error(ErrorCode::kIo,
                 fmt::format("storage.backup_dir, {}: {}", directory, error.message()));
  }
  const fs::path parent = fs::canonical(path.parent_path(), error);
  if (!error && path.is_absolute() && path == path.lexically_normal() && path.has_filename() &&
      IsWithin(parent, below)) {
    return {};
  }
  return Invalid(
      fmt::format("\"{}\" does not lie in {} (storage.backup_dir), below which backups "
                  "are made only",
                  to, directory));
}

BackupDirectory::~BackupDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

Status BackupDirectory::Take(const std::string& to, const std::string& store) {
  to_ = to;
  Status done = Hold(store);
  Result<std::string> text = done ? ReadManifest() : Result<std::string>(done.error());
  if (done && !text) done = text.error();
  if (done && !text->empty()) {
    Result<BackupManifest> manifest = DecodeManifest(*text);
    if (!manifest) done = manifest.error().Prefixed(to_);
    if (manifest) complete_ = std::move(*manifest);
  }
  if (done && complete_.moment > 0 && complete_.store != store) {
    done = Error(ErrorCode::kConflict, "the backup in " + to_ + " is of another store");
  }
  if (done) done = SettleManifest(*text);
  if (done) done = FindRemains();
  if (done) done = Clean();
  if (done) return done;
  std::error_code error;
  if (made_mark_) fs::remove(Path(kStoreName), error);
  if (made_) fs::remove(to_, error);
  return done;
}

// Of a backup that was killed, or of one whose manifest somebody lost.
Status BackupDirectory::FindRemains() {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env_->GetChildren(to_, &names));
  if (!listed) return listed;
  std::set<std::string> moments;
  next_moment_ = complete_.moment + 1;
  for (const std::string& name : names) {
    if (!name.starts_with(kMomentPrefix)) continue;
    moments.insert(name);
  }
  if (complete_.moment > 0 && moments.contains(MomentName(complete_.moment))) return {};
  for (const std::string& name : moments) {
    uint64_t number = 0;
    std::from_chars(name.data() + kMomentPrefix.size(), name.data() + name.size(), number);
    next_moment_ = std::max(next_moment_, number + 1);
  }
  remains_ = std::move(moments);
  const Status read = FromLevelDb(env_->GetChildren(Path("blocks"), &names));
  if (!read && read.error().code() != ErrorCode::kNotFound) return read;
  if (read) remains_.insert(names.begin(), names.end());
  return {};
}

// It may have been renamed, and not be so after a power cut: then another moment is there, too,
// which may go only when that is certain. A sync that failed once may say less the next time, so
// the name is given anew.
Status BackupDirectory::SettleManifest(const std::string& text) const {
  if (text.empty()) return {};
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env_->GetChildren(to_, &names));
  if (!listed) return listed;
  const bool is_alone = std::ranges::none_of(names, [&](const std::string& name) {
    return name.starts_with(kMomentPrefix) && name != MomentName(complete_.moment);
  });
  return is_alone ? Status() : ReplaceFile(env_, Path(kManifestName), text);
}

// STORE is locked, which nobody else ever locks or opens.
Status BackupDirectory::Hold(const std::string& store) {
  const Result<bool> is_there = Exists(to_);
  if (!is_there) return is_there.error();
  made_ = !*is_there;
  const std::string mark = Path(kStoreName);
  Status done = MakeDirectory(env_, to_);
  if (!done) return done;
  const Result<bool> is_empty = IsEmptyDirectory(env_, to_);
  if (!is_empty) return is_empty.error();
  if (*is_empty) {
    made_mark_ = true;
    done = ReplaceFile(env_, mark, store + "\n");
  }
  if (!done) return done;
  lock_ = ::open(mark.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock_ < 0 && (errno == ENOENT || errno == ELOOP)) {
    return Error(ErrorCode::kConflict, to_ + " is not empty, and has no backup of this store");
  }
  if (lock_ < 0) return FromLevelDb(FromErrno(mark, errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int failed = errno;
    made_mark_ = false;  // Another one uses it by now.
    if (failed != EWOULDBLOCK) return FromLevelDb(FromErrno(mark, failed));
    return Error(ErrorCode::kConflict, "another backup is being made in " + to_);
  }
  std::string of;
  done = FromLevelDb(leveldb::ReadFileToString(env_, mark, &of));
  if (!done) return done;
  if (of != store + "\n") {
    return Error(ErrorCode::kConflict, to_ + " has backups of another store");
  }
  return {};
}

Result<std::string> BackupDirectory::ReadManifest() const {
  std::string text;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env_, Path(kManifestName), &text));
  if (!read && read.error().code() == ErrorCode::kNotFound) return std::string();
  if (!read) return read.error();
  if (!text.empty()) return text;
  return Error(ErrorCode::kCorruption, Path(kManifestName) + " is empty");
}

// A rename may be done that is said to have failed, or not be there to stay. Then nothing is undone
// that either of the two manifests needs.
Status BackupDirectory::Complete(BackupManifest manifest) {
  const std::string text = EncodeManifest(manifest);
  const Result<std::string> before = ReadManifest();
  if (!before) return before.error();
  Status replaced = ReplaceFile(env_, Path(kManifestName), text);
  if (!replaced) {
    const Result<std::string> there = ReadManifest();
    if (there && *there == text) replaced = ReplaceFile(env_, Path(kManifestName), text);
    is_uncertain_ = !replaced && !(there && *there == *before);
  }
  if (!replaced) return replaced;
  complete_ = std::move(manifest);
  remains_.clear();
  const Status cleaned = Clean();
  if (!cleaned) spdlog::warn("backup: {}: {}", to_, cleaned.error().message());
  return {};
}

// What lies behind a link is another's, and may be the store's own.
Status BackupDirectory::CheckDirectories() const {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env_->GetChildren(to_, &names));
  if (!listed) return listed;
  for (const std::string& name : names) {
    if (name != "blocks" && !name.starts_with(kMomentPrefix)) continue;
    std::error_code error;
    if (fs::is_directory(fs::symlink_status(Path(name), error))) continue;
    if (error) return Error(ErrorCode::kIo, Path(name) + ": " + error.message());
    return Error(ErrorCode::kConflict,
                 Path(name) + " is no directory, and no backup made it so: remove it");
  }
  return {};
}

// What no manifest names, and what is not all that is left of one.
Status BackupDirectory::Clean() const {
  const Status checked = CheckDirectories();
  if (!checked) return checked;
  std::set<std::string> blocks;
  for (const auto& file : complete_.blocks) blocks.insert(BlocksName(file));
  std::vector<std::string> names;
  Status listed = FromLevelDb(env_->GetChildren(Path("blocks"), &names));
  if (!listed && listed.error().code() != ErrorCode::kNotFound) return listed;
  std::error_code error;
  for (const std::string& name : names) {
    const bool is_link = name == "." || name == "..";
    if (is_link || remains_.contains(name)) continue;
    if (!blocks.contains(name)) fs::remove(Path("blocks/" + name), error);
  }
  listed = FromLevelDb(env_->GetChildren(to_, &names));
  if (!listed) return listed;
  for (const std::string& name : names) {
    if (!name.starts_with(kMomentPrefix) || name == MomentName(complete_.moment)) continue;
    if (remains_.contains(name)) continue;
    if (fs::remove_all(Path(name), error); error) {
      return Error(ErrorCode::kIo, Path(name) + ": " + error.message());
    }
  }
  return {};
}

void BackupDirectory::Leave() const {
  if (is_uncertain_) return;
  Clean().has_value();
  if (complete_.moment > 0) return;
  std::error_code error;
  fs::remove(Path("blocks"), error);
  if (made_mark_) fs::remove(Path(kStoreName), error);
  if (made_) fs::remove(to_, error);
}

}  // namespace tallyd
