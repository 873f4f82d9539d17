// CopyEnd: one end of a copy, which always is a daemon that answers HTTP. Where one serves the
// configuration, that one; else one of this process on the directory, for as long as the end lives
// (ToolHost::serve): it makes no nightly tables, and beyond that lives with the store as a daemon
// does, so it adopts the configuration and seals.
//
// A directory that nobody has locked is opened. One that is locked is the listening daemon's only
// if that says so itself (`store.path` of /v1/status); anything else is refused. A target is one
// copy's at a time, whoever serves it: two would each find that nothing has been added up yet.
//
// A Bigtable is always opened by this process, beside whichever daemons have it, and nobody keeps
// a second copy out of it. A source there is left as it is: what it lacks is not made.
#ifndef TALLYD_TOOLS_COPY_COPY_END_H_
#define TALLYD_TOOLS_COPY_COPY_END_H_

#include <memory>
#include <string>
#include <utility>

#include "config/file/config.h"
#include "config/values/result.h"
#include "tools/http_client.h"
#include "tools/tool_host.h"

namespace tallyd {

enum class EndRole : uint8_t {
  kSource,  // Must be there.
  kTarget,  // Is made where there is none.
};

class CopyEnd {
 public:
  // kNotFound: a source that is not there. kConflict: the directory is in use, but not by the
  // daemon that the configuration names, or another copy goes into it. Others are those of the
  // daemon's start. `token`: for a daemon that is there; empty: none.
  static Result<CopyEnd> Open(const Config& config, EndRole role, const std::string& token,
                              const ToolHost& host);

  const HttpTarget& target() const { return target_; }
  const std::string& token() const { return token_; }  // What the daemon there asks for.
  bool is_served() const { return !daemon_; }  // By another process.

 private:
  // Holds the lock of copies on a directory.
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Claim& operator=(Claim&& other) noexcept {
      std::swap(descriptor_, other.descriptor_);
      return *this;
    }
    ~Claim();

    // Nothing happens where it is taken, or the directory is not there.
    Status Take(const std::string& directory);

   private:
    int descriptor_ = -1;
  };

  static Result<CopyEnd> OpenUnclaimed(const Config& config, EndRole role,
                                       const std::string& token, const ToolHost& host);

  Claim claim_;
  HttpTarget target_;
  std::string token_;
  std::unique_ptr<LocalDaemon> daemon_;
};

// Whether one of the paths is the other, or lies in it, whatever they are called.
bool ShareDirectory(const std::string& a, const std::string& b);

// Where the rows are, for people and for states: the directory, or the tables of a Bigtable.
std::string PlaceOf(const StorageConfig& storage);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_COPY_END_H_
