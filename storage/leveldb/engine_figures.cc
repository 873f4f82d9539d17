#include "storage/leveldb/engine_figures.h"

#include <array>
#include <cstdlib>
#include <filesystem>

namespace tallyd {
namespace {

constexpr size_t kLevels = 7;
// LevelDB 1.23 delays every write by 1 ms from 8 files in level 0 on, and stops at 12.
constexpr uint64_t kSlowdownFiles = 8;
constexpr uint64_t kStopFiles = 12;

struct Figures {
  uint64_t unsealed_bytes = 0;
  uint64_t block_files = 0;
  uint64_t pending_deletes = 0;
  std::array<uint64_t, kLevels> level_files{};
};

// Files come and go meanwhile.
uint64_t BytesBelow(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator file(path, error);
  while (!error && file != std::filesystem::recursive_directory_iterator()) {
    std::error_code gone;
    const bool counts = file->is_regular_file(gone) && file->path().filename() != "ballast";
    const uint64_t size = counts ? file->file_size(gone) : 0;
    if (!gone) bytes += size;
    file.increment(error);
  }
  return bytes;
}

// While the files are being reopened there is nothing to count.
Figures Measure(Engine* engine) {
  Figures figures;
  figures.pending_deletes = engine->state().latest_deletes.size();
  const Result<std::unique_ptr<Lease>> lease = engine->database().NewLease();
  if (!lease) return figures;
  const Access access(lease->get());
  if (!access) return figures;
  for (const auto& head : access.view().heads) figures.unsealed_bytes += head->bytes();
  for (const auto& [table, files] : access.view().files) figures.block_files += files->size();
  for (const auto& [table, list] : access.view().deletes) figures.pending_deletes += list->size();
  for (size_t level = 0; level < kLevels; ++level) {
    std::string files;
    access.base().GetProperty("leveldb.num-files-at-level" + std::to_string(level), &files);
    figures.level_files[level] = std::strtoul(files.c_str(), nullptr, 10);
  }
  return figures;
}

// Of those that an operator should look at.
void TellOfFiles(Engine* engine, StoreState* state) {
  const auto gauge = [&](const char* name, const char* help, uint64_t value) {
    state->gauges.push_back({name, help, {}, static_cast<double>(value)});
  };
  StoreMember::Members cut;
  const char* const help = "Bytes at the end of a file that a crash left incomplete.";
  for (const TornTail& tail : engine->database().torn_tails()) {
    state->gauges.push_back({"tallyd_store_cut_tail_bytes",
                             help,
                             {{"file", tail.file}},
                             static_cast<double>(tail.bytes)});
    cut.push_back({"", StoreMember::Members{{"file", tail.file}, {"bytes", tail.bytes}}});
  }
  StoreMember::Members lost;
  for (const LostFile& file : engine->lost_files()) {
    lost.push_back({"", StoreMember::Members{{"file", file.path}, {"bytes", file.bytes}}});
  }
  StoreMember::Members damaged;
  for (const DamagedFile& file : engine->database().shelf().damaged().All()) {
    damaged.push_back({"", StoreMember::Members{{"file", file.path}, {"reason", file.reason}}});
  }
  if (cut.empty()) gauge("tallyd_store_cut_tail_bytes", help, 0);
  gauge("tallyd_store_lost_files", "Files in lost/: complete, and on no record.", lost.size());
  gauge("tallyd_damaged_files", "Block files of which something cannot be read.", damaged.size());
  state->members.push_back({"cut_tails", std::move(cut)});
  state->members.push_back({"lost_files", std::move(lost)});
  state->members.push_back({"damaged_files", std::move(damaged)});
}

}  // namespace

void TellOfEngine(Engine* engine, StoreState* state) {
  const Figures figures = Measure(engine);
  state->unsealed_bytes = figures.unsealed_bytes;
  const auto tell = [&](const char* member, const char* gauge, const char* help, uint64_t value) {
    if (member != nullptr) state->members.push_back({member, value});
    state->gauges.push_back({gauge, help, {}, static_cast<double>(value)});
  };
  tell("pending_deletes", "tallyd_store_pending_deletes",
       "Deleted ranges whose bytes are still on the disk, or in memory (latest tables).",
       figures.pending_deletes);
  tell("block_files", "tallyd_store_block_files", "Files of column blocks.", figures.block_files);
  tell(nullptr, "tallyd_store_unsealed_bytes", "Bytes committed that are not in column blocks yet.",
       figures.unsealed_bytes);
  tell("disk_bytes", "tallyd_store_disk_bytes", "Bytes of data, ballast left out.",
       BytesBelow(engine->database().path()));
  tell("free_bytes", "tallyd_store_free_bytes", "Free bytes of the data's volume.",
       engine->space().free_bytes());
  StoreMember::Members levels;
  for (size_t level = 0; level < figures.level_files.size(); ++level) {
    const uint64_t files = figures.level_files[level];
    levels.push_back({"", files});
    state->gauges.push_back({"tallyd_leveldb_files",
                             "LevelDB's files, by level.",
                             {{"level", std::to_string(level)}},
                             static_cast<double>(files)});
  }
  state->members.push_back({"level_files", std::move(levels)});
  TellOfFiles(engine, state);
  const uint64_t waiting = figures.level_files[0];
  tell(nullptr, "tallyd_leveldb_slowdown",
       "0: none; 1: LevelDB delays writes (8 files in level 0); 2: it stops them.",
       waiting >= kStopFiles       ? 2
       : waiting >= kSlowdownFiles ? 1
                                   : 0);
}

}  // namespace tallyd
