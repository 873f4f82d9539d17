#include "tools/copy/copy_state.h"

#include <algorithm>
#include <filesystem>

#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/tools/toolbox.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

constexpr const char* kChunkBytes = "chunk_bytes";

}  // namespace

Result<std::optional<CopyState>> CopyStateFile::Read() const {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) return Invalid(path_ + " is a directory");
  const Result<std::optional<std::string>> read = ReadStateText(path_);
  if (!read) return read.error();
  if (!*read) return std::optional<CopyState>();
  const std::string& text = **read;
  const size_t end = std::min(text.find('\n'), text.size());
  CopyState state;
  state.told = Json::parse(text.substr(0, end), nullptr, false);
  state.chunk = text.substr(std::min(end + 1, text.size()));
  if (!state.told.is_object() || StateNumber(state.told, kChunkBytes) != state.chunk.size()) {
    return Error(ErrorCode::kCorruption,
                 path_ + " does not tell how far a copy was: remove it to start anew");
  }
  return std::optional<CopyState>(std::move(state));
}

Status CopyStateFile::Write(const Json& told, std::string_view chunk) const {
  Json whole = told;
  whole[kChunkBytes] = chunk.size();
  std::string text = Dump(whole);
  text.push_back('\n');
  text.append(chunk);
  DurableEnv env({[](double) {}, [] {}});
  return ReplaceFile(&env, path_, text);
}

Status CopyStateFile::Remove() const { return RemoveState(path_); }

}  // namespace tallyd
