#include "storage/leveldb/files/stray_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// A description is a few hundred bytes; one beyond this is none.
constexpr uint64_t kMaxDescription = 16u << 20;
constexpr uint64_t kFooter = BlockFileFooter::kBytes;
constexpr size_t kPieceBytes = 1u << 20;

Result<std::string> ReadAt(const leveldb::RandomAccessFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  leveldb::Slice read;
  const Status done = FromLevelDb(file.Read(offset, size, &read, bytes.data()));
  if (!done) return done.error();
  if (read.size() != size) return Error(ErrorCode::kIo, "the file became shorter");
  return read.ToString();
}

}  // namespace

// The end of a file, as far as it is one.
struct StrayJudge::End {
  std::unique_ptr<leveldb::RandomAccessFile> file;
  bool is_complete = false;  // An end was written, be it damaged or not.
  BlockFileFooter footer;
  std::optional<BlockFileDescription> description;  // Where it can be read.
};

// Of a file that was completed a damaged end is still one: what is there of it, or the description
// that it points to, tells.
Result<StrayJudge::End> StrayJudge::ReadEnd(const std::string& path) const {
  End end;
  uint64_t size = 0;
  leveldb::RandomAccessFile* opened = nullptr;
  Status done = FromLevelDb(env_.GetFileSize(path, &size));
  if (!done) return done.error();
  if (size < kFooter) return end;
  done = FromLevelDb(env_.NewRandomAccessFile(path, &opened));
  if (!done) return done.error();
  end.file.reset(opened);
  const Result<std::string> bytes = ReadAt(*end.file, size - kFooter, kFooter);
  if (!bytes) return bytes.error();
  const bool is_whole = DecodeFooter(*bytes, size, &end.footer);
  end.is_complete = is_whole || LooksLikeFooter(*bytes);
  const BlockFileFooter& footer = end.footer;
  const bool leads_there = footer.index <= footer.description &&
                           footer.description <= size - kFooter &&
                           size - kFooter - footer.description <= kMaxDescription;
  if (!leads_there) return end;
  const Result<std::string> described =
      ReadAt(*end.file, footer.description, size - kFooter - footer.description);
  if (!described) return described.error();
  if (Checksum64(*described) != footer.description_checksum) return end;
  end.is_complete = true;
  Result<BlockFileDescription> description = DecodeDescription(*described);
  if (!is_whole || !description) return end;
  end.description = std::move(*description);
  end.description->info.bytes = size;
  end.description->info.checksum = footer.description_checksum;
  return end;
}

Result<StrayFile> StrayJudge::Judge(const std::string& path, uint64_t number) {
  Result<End> end = ReadEnd(path);
  if (!end) return end.error();
  StrayFile stray;
  if (!end->is_complete) {
    stray.kind = StrayFile::Kind::kIncomplete;
    return stray;
  }
  if (!end->description) {
    stray.reason = "its end or its description cannot be read";
    return stray;
  }
  const bool is_dropped = IsDropped(number, *end);
  stray.description = std::move(end->description);
  const FileOrigin& origin = stray.description->origin;
  const BlockFileInfo& info = stray.description->info;
  const Result<bool> is_copy = IsThere({FileSource::Kind::kFile, info.number, info.checksum});
  if (!is_copy) return is_copy.error();
  if (is_dropped || *is_copy) {
    stray.kind = is_dropped ? StrayFile::Kind::kElsewhere : StrayFile::Kind::kCopy;
    stray.reason = fmt::format("it is file {} once more", info.number);
    return stray;
  }
  if (origin.sources.empty()) {
    stray.reason = "it does not say what it was made of";
    return stray;
  }
  if (origin.store != record_.store) {
    stray.reason = fmt::format("it is of the store {}", HexOfStoreId(origin.store));
    return stray;
  }
  for (const FileSource& source : origin.sources) {
    const Result<bool> there = IsThere(source);
    if (!there) return there.error();
    if (*there) continue;
    const char* const kind = source.kind == FileSource::Kind::kHead ? "head" : "file";
    stray.reason =
        fmt::format("it was made of {} {}, which is not here as it was then", kind, source.number);
    return stray;
  }
  stray.kind = StrayFile::Kind::kElsewhere;
  return stray;
}

// A note of an older tallyd says a number only, and means a file of its own kind.
bool StrayJudge::IsDropped(uint64_t number, const End& end) const {
  const auto note = record_.dropped.find(number);
  if (note == record_.dropped.end() || any_missing_) return false;
  if (note->second) return *note->second == end.footer.description_checksum;
  return !end.description->content.has_value();
}

Result<bool> StrayJudge::IsThere(const FileSource& source) {
  const auto known = known_.find({source.kind, source.number});
  if (known != known_.end() && known->second.first == source.checksum) return known->second.second;
  Result<bool> there = false;
  if (source.kind == FileSource::Kind::kFile) {
    there = HasFile(source);
  } else {
    const auto head = std::ranges::find(record_.heads, source.number, &Head::number);
    if (head == record_.heads.end()) return false;
    const Result<uint64_t> checksum = (*head)->Checksum();
    if (!checksum) return checksum.error();
    there = *checksum == source.checksum;
  }
  if (there) known_[{source.kind, source.number}] = {source.checksum, *there};
  return there;
}

Result<std::optional<bool>> StrayJudge::HasAllMadeOf(const FileSource& source) const {
  std::optional<bool> has_all;
  for (const BlockFilePtr& file : record_.files) {
    const Result<End> end = ReadEnd(file->path());
    if (!end && end.error().code() == ErrorCode::kNotFound) continue;
    if (!end) return end.error();
    if (!end->description || end->description->origin.store != record_.store) continue;
    const auto& sources = end->description->origin.sources;
    if (std::ranges::find(sources, source) == sources.end()) continue;
    const BlockFileInfo& info = file->info();
    const Result<bool> is_whole = HasFile({FileSource::Kind::kFile, info.number, info.checksum});
    if (!is_whole) return is_whole.error();
    has_all = *is_whole && has_all.value_or(true);
  }
  return has_all;
}

// Base names it, and it is read from end to end.
Result<bool> StrayJudge::HasFile(const FileSource& source) const {
  const auto named = std::ranges::find_if(record_.files, [&](const BlockFilePtr& file) {
    return file->info().number == source.number && file->info().checksum == source.checksum;
  });
  if (named == record_.files.end()) return false;
  const Result<End> end = ReadEnd((*named)->path());
  if (!end && end.error().code() == ErrorCode::kNotFound) return false;
  if (!end) return end.error();
  const auto& description = end->description;
  const bool is_that = description && description->info == (*named)->info() &&
                       description->content && description->origin.store == record_.store;
  if (!is_that) return false;
  const Result<std::string> index =
      ReadAt(*end->file, end->footer.index, end->footer.description - end->footer.index);
  if (!index) return index.error();
  if (Checksum64(*index) != end->footer.index_checksum) return false;
  ContentChecksum content;
  for (uint64_t at = 0; at < end->footer.index;) {
    const Result<std::string> piece =
        ReadAt(*end->file, at, std::min<uint64_t>(kPieceBytes, end->footer.index - at));
    if (!piece) return piece.error();
    content.Add(*piece);
    at += piece->size();
  }
  return content.Get() == *description->content;
}

}  // namespace tallyd
