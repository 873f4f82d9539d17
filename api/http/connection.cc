#include "api/http/connection.h"

#include <spdlog/spdlog.h>

namespace tallyd {

void ConnectionEnd::operator()(std::exception_ptr error) const {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    spdlog::error("a connection ended by an exception: {}", e.what());
  }
}

}  // namespace tallyd
