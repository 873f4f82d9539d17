// CopyState: how far a copy is, in one file that is replaced as a whole and synced: a line of JSON,
// and behind it the chunk that is being sent. Who resumes sends that chunk again, with its key and
// byte for byte, and reads on behind it: what the source answers meanwhile may have changed, and
// the chunk would then be another one.
#ifndef TALLYD_TOOLS_COPY_COPY_STATE_H_
#define TALLYD_TOOLS_COPY_COPY_STATE_H_

#include <optional>
#include <string>

#include "config/values/result.h"
#include "ingest/text/json.h"

namespace tallyd {

struct CopyState {
  Json told = Json::object();
  std::string chunk;
};

class CopyStateFile {
 public:
  explicit CopyStateFile(std::string path) : path_(std::move(path)) {}

  // Null where there is none. kIo naming the file where it cannot be read, kCorruption where it
  // holds something else.
  Result<std::optional<CopyState>> Read() const;
  // Durable on return. Errors name the file.
  Status Write(const Json& told, std::string_view chunk) const;
  Status Remove() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_COPY_STATE_H_
