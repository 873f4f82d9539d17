#include "daemon/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace tallyd {

namespace {

// %*: the message with control bytes and quotes escaped, so that no input can forge a line or a
// member.
class EscapedMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
      } else if (byte < 0x20 || byte == 0x7f) {
        for (const char escaped : {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]}) {
          out.push_back(escaped);
        }
      } else {
        out.push_back(c);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

}  // namespace

void ConfigureLogging(const LogConfig& config) {
  auto logger =
      std::make_shared<spdlog::logger>("tallyd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<EscapedMessage>('*');
  formatter->set_pattern(
      config.format == "json"
          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","thread":%t,"message":"%*"})"
          : "%Y-%m-%dT%H:%M:%S.%eZ %l %*");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(config.level == "warn" ? "warning" : config.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace tallyd
