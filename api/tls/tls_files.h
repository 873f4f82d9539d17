// The files that TLS needs, read whole and judged as files: where they are, how large, and who else
// may read a key. What is in them is OpenSSL's to judge (api/tls/tls_context.h).
#ifndef TALLYD_API_TLS_TLS_FILES_H_
#define TALLYD_API_TLS_TLS_FILES_H_

#include <string>

#include "config/values/result.h"

namespace tallyd {

// kInvalid says which file and why: it is not there, no regular file, empty, or larger than 1 MiB.
Result<std::string> ReadPublicFile(const std::string& path);

// The same of a file that holds a secret; also where others than its owner and group may read,
// write or run it. A group's read is taken, so that a renewed key can be given to the daemon.
Result<std::string> ReadSecretFile(const std::string& path);

}  // namespace tallyd

#endif  // TALLYD_API_TLS_TLS_FILES_H_
