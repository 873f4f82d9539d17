// What gRPC itself logs goes into the daemon's log, at level debug: whoever calls is told of a
// failure by its status, and a line for each try of a connection would bury that.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_GRPC_LOG_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_GRPC_LOG_H_

namespace tallyd {

// From now on, in the whole process. Idempotent; any thread.
void TakeLogOfGrpc();

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_GRPC_LOG_H_
