#include "tools/copy/copy_end.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ingest/text/json.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/overlay_env.h"
#include "tools/http_client.h"

namespace tallyd {
namespace {

std::filesystem::path Canonical(const std::string& path) {
  std::error_code failed;
  std::filesystem::path canonical = std::filesystem::weakly_canonical(path, failed);
  return failed ? std::filesystem::path(path).lexically_normal() : canonical;
}

// A directory above a path, or the path itself, that is there, and what of the path is below it.
struct Ancestor {
  dev_t device = 0;
  ino_t inode = 0;
  std::filesystem::path below;
};

// By what they are, since one directory may have several names that no path tells of: it may be
// mounted in two places.
std::vector<Ancestor> AncestorsOf(const std::filesystem::path& path) {
  std::vector<Ancestor> ancestors;
  std::filesystem::path above = path;
  std::filesystem::path below;
  while (true) {
    struct stat status {};
    if (::stat(above.c_str(), &status) == 0) {
      ancestors.push_back({status.st_dev, status.st_ino, below});
    }
    if (!above.has_relative_path()) return ancestors;
    if (above.has_filename()) {  // Not behind a last slash.
      below = below.empty() ? above.filename() : above.filename() / below;
    }
    above = above.parent_path();
  }
}

// Whether one of the paths is the beginning of the other.
bool LiesOnThePath(const std::filesystem::path& one, const std::filesystem::path& other) {
  const auto [in_one, in_other] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return in_one == one.end() || in_other == other.end();
}

// kConflict where somebody has it; nobody has it after this.
Status Probe(const Config& config, EndRole role) {
  DurableEnv durable({[](double) {}, [] {}});
  const std::string& path = config.storage.path;
  if (role == EndRole::kSource && !durable.FileExists(path + "/CURRENT")) {
    return Error(ErrorCode::kNotFound, "there is no store in " + path);
  }
  OverlayEnv env(&durable);
  return env.Lock(path);
}

// Where the daemon that listens there has its store, by its own word.
Result<std::string> StoreOf(const HttpTarget& daemon, const std::string& token) {
  HttpQuestion question{"GET", "/v1/status", {}, {}};
  if (!token.empty()) question.headers.emplace_back("Authorization", "Bearer " + token);
  const Result<HttpAnswer> answer = Ask(daemon, question);
  if (!answer) return answer.error();
  const Json said = Json::parse(answer->body, nullptr, false);
  const Json::json_pointer place("/store/path");
  if (answer->status == kHttpOk && said.is_object() && said.contains(place) &&
      said.at(place).is_string()) {
    return said.at(place).get<std::string>();
  }
  return Error(ErrorCode::kConflict,
               "what listens on " + UrlOf(daemon) + " does not say which store it has" +
                   (answer->status == kHttpUnauthorized ? ": it asks for a token" : ""));
}

Result<HttpTarget> ServerOf(const Config& config, const std::string& token) {
  Result<HttpTarget> daemon = TargetOf(config.server);
  if (!daemon) return daemon.error();
  const std::string in_use = config.storage.path + " is in use by another process";
  const Result<std::string> store = StoreOf(*daemon, token);
  if (!store) {
    return Error(ErrorCode::kConflict,
                 in_use + ", and no daemon that serves it is found: " + store.error().message());
  }
  if (Canonical(*store) != Canonical(config.storage.path)) {
    return Error(ErrorCode::kConflict,
                 fmt::format("{}, and the daemon on {} serves {}", in_use, UrlOf(*daemon), *store));
  }
  return daemon;
}

}  // namespace

CopyEnd::Claim::~Claim() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status CopyEnd::Claim::Take(const std::string& directory) {
  if (descriptor_ >= 0) return {};
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return {};
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    descriptor_ = descriptor;
    return {};
  }
  const int failed = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (failed == EWOULDBLOCK) {
    return Error(ErrorCode::kConflict, "another copy goes into " + directory + " just now");
  }
  return Error(ErrorCode::kIo, fmt::format("{}: {}", directory, std::strerror(failed)));
}

Result<CopyEnd> CopyEnd::Open(const Config& config, EndRole role, const std::string& token,
                              const ToolHost& host) {
  if (role == EndRole::kSource || !config.storage.has_directory()) {
    return OpenUnclaimed(config, role, token, host);
  }
  Claim claim;
  if (Status taken = claim.Take(config.storage.path); !taken) return taken.error();
  Result<CopyEnd> end = OpenUnclaimed(config, role, token, host);
  if (!end) return end;
  // The first one makes the directory.
  if (Status taken = claim.Take(config.storage.path); !taken) return taken.error();
  end->claim_ = std::move(claim);
  return end;
}

Result<CopyEnd> CopyEnd::OpenUnclaimed(const Config& config, EndRole role,
                                       const std::string& token, const ToolHost& host) {
  CopyEnd end;
  end.token_ = token;
  const Status free = config.storage.has_directory() ? Probe(config, role) : Status();
  if (!free) {
    if (free.error().code() != ErrorCode::kConflict) return free.error();
    Result<HttpTarget> server = ServerOf(config, token);
    if (!server) return server.error();
    end.target_ = std::move(*server);
    return end;
  }
  Config served = config;
  if (role == EndRole::kSource) served.storage.bigtable.create = false;
  Result<std::unique_ptr<LocalDaemon>> daemon = host.serve(served);
  if (!daemon) return daemon.error();
  end.daemon_ = std::move(*daemon);
  Result<HttpTarget> own = ParseUrl(end.daemon_->url());
  if (!own) return own.error();
  end.target_ = std::move(*own);
  end.token_ = end.daemon_->token();
  return end;
}

std::string PlaceOf(const StorageConfig& storage) {
  if (storage.has_directory()) return storage.path;
  const BigtableConfig& bigtable = storage.bigtable;
  const std::string& address = bigtable.emulator.empty() ? bigtable.endpoint : bigtable.emulator;
  return fmt::format("projects/{}/instances/{}/tables/{}*{}{}", bigtable.project,
                     bigtable.instance, bigtable.prefix, address.empty() ? "" : " on ", address);
}

bool ShareDirectory(const std::string& a, const std::string& b) {
  const std::vector<Ancestor> others = AncestorsOf(Canonical(b));
  return std::ranges::any_of(AncestorsOf(Canonical(a)), [&](const Ancestor& one) {
    return std::ranges::any_of(others, [&](const Ancestor& other) {
      return one.device == other.device && one.inode == other.inode &&
             LiesOnThePath(one.below, other.below);
    });
  });
}

}  // namespace tallyd
