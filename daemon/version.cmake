# Writes OUTPUT, a header with the version and, where git can tell it, the commit. Never fails: a
# source archive has no git, and a checkout owned by somebody else makes git refuse.
set(build "${VERSION}")
find_program(GIT git)
if(GIT)
  execute_process(
    COMMAND ${GIT} describe --always --dirty --tags --abbrev=10
    WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE commit
    RESULT_VARIABLE failed
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND commit)
    set(build "${VERSION} (${commit})")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#ifndef TALLYD_DAEMON_VERSION_H_
#define TALLYD_DAEMON_VERSION_H_

namespace tallyd {

inline constexpr char kVersion[] = "@VERSION@";
// With the commit it was built from, where that is known.
inline constexpr char kBuild[] = "@build@";

}  // namespace tallyd

#endif  // TALLYD_DAEMON_VERSION_H_
]])
