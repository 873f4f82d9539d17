#include "storage/leveldb/seal/damage_job.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace tallyd {
namespace {

// Of a file, before more urgent work is asked for.
constexpr size_t kBlocksAtOnce = 64;

BlockFilePtr FindFile(const View& view, uint64_t number) {
  for (const auto& [table, files] : view.files) {
    for (const BlockFilePtr& file : *files) {
      if (file->info().number == number) return file;
    }
  }
  return nullptr;
}

}  // namespace

DamageJob::DamageJob(SealContext* context) : context_(*context) {
  for (const DamagedFile& file : context_.database().shelf().damaged().Noted(true)) {
    to_check_.push_back(file.number);
  }
}

Result<Progress> DamageJob::Work(const ViewPtr& view) {
  Result<Progress> noted = Note(*view);
  if (!noted || *noted == Progress::kSome) return noted;
  return CheckNext(*view);
}

// What is dropped has another note already, or goes without one.
Result<Progress> DamageJob::Note(const View& view) {
  DamagedFiles& damaged = context_.database().shelf().damaged();
  for (const DamagedFile& file : damaged.Noted(false)) {
    if (!FindFile(view, file.number)) continue;
    const Status noted = context_.CommitRecords(
        {{FileNoteKey(file.number), EncodeFileNote({FileNote::Kind::kDamaged, file.reason})}});
    if (!noted) return noted.error();
    damaged.SetNoted(file.number);
    return Progress::kSome;
  }
  return Progress::kNone;
}

Result<Progress> DamageJob::CheckNext(const View& view) {
  // One that was dropped meanwhile has another note.
  if (check_.file && !FindFile(view, check_.file->info().number)) check_ = {};
  while (!check_.file && !to_check_.empty()) {
    check_ = {FindFile(view, to_check_.back()), 0};
    to_check_.pop_back();
  }
  if (!check_.file) return Progress::kNone;
  const Result<bool> more = ReadOn();
  if (more && *more) return Progress::kSome;
  // Also where it cannot be read now: a restart looks again.
  const Status done = more ? SetWell() : Status();
  if (done) check_ = {};
  return done ? Result<Progress>(Progress::kSome) : done.error();
}

Result<bool> DamageJob::ReadOn() {
  const Result<BlockIndexPtr> index = check_.file->Index();
  if (!index) return index.error();
  const auto& blocks = (*index)->blocks();
  for (size_t i = 0; i < kBlocksAtOnce && check_.block < blocks.size(); ++i, ++check_.block) {
    if (context_.stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Status read = ReadBlock(blocks[check_.block]);
    if (!read) return read.error();
    context_.Pace();
  }
  return check_.block < blocks.size();
}

Status DamageJob::ReadBlock(const BlockPlace& place) {
  Status done = check_.file->Read(place, 0, place.size, &bytes_);
  if (done) done = block_.Open(std::string_view(bytes_).substr(0, place.head_size));
  const size_t columns = done ? block_.schema()->columns.size() : 0;
  for (uint32_t column = 0; done && column < columns; ++column) {
    const ColumnBlock::Stream stream = block_.StreamOf(column);
    if (uint64_t{stream.offset} + stream.size > bytes_.size()) {
      return Error(ErrorCode::kCorruption, "a column reaches beyond its block");
    }
    const std::string_view bytes(bytes_);
    done = block_.Decode(column, bytes.substr(stream.offset, stream.size), &data_);
  }
  return done;
}

Status DamageJob::SetWell() {
  const uint64_t number = check_.file->info().number;
  const Status cleared = context_.CommitRecords({{FileNoteKey(number), std::string()}});
  if (!cleared) return cleared;
  context_.database().shelf().damaged().Forget(number);
  spdlog::info("store: {} was damaged, and is whole again", check_.file->path());
  return {};
}

}  // namespace tallyd
