// What an interrupted load or export needs to go on: a small JSON object in a file beside the data.
// It is replaced as a whole, so that whoever reads it finds the old one or the new one.
#ifndef TALLYD_TOOLS_TRANSFER_STATE_FILE_H_
#define TALLYD_TOOLS_TRANSFER_STATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "config/values/result.h"
#include "ingest/text/json.h"

namespace tallyd {

// All of the file. Null where there is none, which alone says that nothing was begun: a file that
// is there and cannot be read is kIo naming it.
Result<std::optional<std::string>> ReadStateText(const std::string& path);
// The same. kCorruption naming the file where it holds no JSON object.
Result<std::optional<Json>> ReadState(const std::string& path);
// kIo naming the file.
Status WriteState(const std::string& path, const Json& state);
// Fine if there is none. kIo naming the file: it would be gone on by another time, so whoever is
// done is not before it is gone.
Status RemoveState(const std::string& path);

// Members of a state; empty and 0 where they are absent or of another kind.
std::string StateText(const Json& state, const char* name);
uint64_t StateNumber(const Json& state, const char* name);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_STATE_FILE_H_
