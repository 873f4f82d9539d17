// What the process holds in memory stays there: no core file, and no debugger of another process.
#ifndef TALLYD_DAEMON_CORES_H_
#define TALLYD_DAEMON_CORES_H_

namespace tallyd {

// For as long as the process lives; logs what could not be done. Idempotent.
void KeepSecretsOutOfCores();

}  // namespace tallyd

#endif  // TALLYD_DAEMON_CORES_H_
