#include "storage/bigtable/wire/grpc_log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

namespace tallyd {
namespace {

void Log(gpr_log_func_args* line) { spdlog::debug("grpc: {}", line->message); }

}  // namespace

void TakeLogOfGrpc() { gpr_set_log_function(&Log); }

}  // namespace tallyd
