// The file that a tool's --token-file names: its first line is the token that is sent to a daemon.
#ifndef TALLYD_TOOLS_TOKEN_FILE_H_
#define TALLYD_TOOLS_TOKEN_FILE_H_

#include <string>

#include "config/values/result.h"

namespace tallyd {

// Empty of no file ("": the tool was given none). kInvalid where there is no such file, others than
// its owner and its group may do anything with it, or it holds no token; what it holds is not told.
Result<std::string> ReadTokenFile(const std::string& file);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TOKEN_FILE_H_
