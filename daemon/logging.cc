#include "daemon/logging.h"

#include <prometheus/counter.h>
#include <simdjson.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/log_queue.h"

namespace tallyd {

namespace {

// %*: the message, with quotes, control characters and bytes that are no UTF-8 escaped, so that no
// input can forge a line, a member or what a terminal obeys.
class EscapedMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const spdlog::string_view_t text = message.payload;
    const bool utf8 = simdjson::validate_utf8(text.data(), text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text.data()[i]);
      if (byte == '"' || byte == '\\') {
        out.push_back('\\');
        out.push_back(static_cast<char>(byte));
      } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
        Escape(byte, out);
      } else if (byte == 0xc2 && static_cast<unsigned char>(text.data()[i + 1]) < 0xa0) {
        Escape(static_cast<unsigned char>(text.data()[++i]), out);  // U+0080 to U+009F.
      } else {
        out.push_back(static_cast<char>(byte));
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }

 private:
  static void Escape(unsigned char byte, spdlog::memory_buf_t& out) {
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char c : {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]}) out.push_back(c);
  }
};

// %~: the level as the journal reads it in front of a line (sd-daemon(3)).
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    for (const char c : {'<', DigitOf(message.level), '>'}) out.push_back(c);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }

 private:
  static char DigitOf(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::critical:
        return '2';
      case spdlog::level::err:
        return '3';
      case spdlog::level::warn:
        return '4';
      case spdlog::level::info:
        return '6';
      default:
        return '7';
    }
  }
};

}  // namespace

bool LogsToJournal() {
  // systemd names the device and the inode of the stream that it gave: a shell may have redirected
  // it since.
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

void PrintError(std::string_view lines) {
  const char* const priority = LogsToJournal() ? "<3>" : "";
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::fprintf(stderr, "%s%.*s\n", priority, static_cast<int>(end), lines.data());
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

namespace {

constexpr std::chrono::seconds kPatience(2);

std::atomic<LogQueue*> made_queue{nullptr};  // Null until somebody logs.
std::atomic<bool> is_finished{false};        // The logger may be gone.
std::mutex dropped_mutex;
prometheus::Counter* dropped_lines = nullptr;  // Guarded by dropped_mutex.

// Made by the first line, when the signals that its thread is not to take are blocked.
LogQueue& Queue() {
  static LogQueue* const queue = [] {
    auto* const made = new LogQueue(STDERR_FILENO, [](uint64_t dropped) {
      if (is_finished) return;
      spdlog::warn("log: {} lines were dropped, as nobody took them from standard error", dropped);
    });
    return made_queue = made;
  }();
  return *queue;
}

// Formats under its lock, and leaves the writing to the queue.
class QueueSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    line_.clear();
    formatter_->format(message, line_);
    if (Queue().Put({line_.data(), line_.size()})) return;
    const std::lock_guard lock(dropped_mutex);
    if (dropped_lines != nullptr) dropped_lines->Increment();
  }
  void flush_() override {}

 private:
  spdlog::memory_buf_t line_;
};

// One for as long as the process lives: spdlog::info and its kin use the default logger without a
// lock, so it must never be replaced while another thread may log.
spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("tallyd", std::make_shared<QueueSink>());
    spdlog::set_default_logger(made);
    return made;
  }();
  return *logger;
}

}  // namespace

void ConfigureLogging(const LogConfig& config) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<EscapedMessage>('*');
  formatter->add_flag<JournalPriority>('~');
  const std::string pattern =
      config.format == "json"
          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","thread":%t,"message":"%*"})"
          : "%Y-%m-%dT%H:%M:%S.%eZ %l %*";
  formatter->set_pattern((LogsToJournal() ? "%~" : "") + pattern);
  Logger().set_formatter(std::move(formatter));
  Logger().set_level(spdlog::level::from_str(config.level == "warn" ? "warning" : config.level));
}

void FlushLog() {
  if (LogQueue* const queue = made_queue) queue->Drain(kPatience);
}

void FinishLogging() {
  FlushLog();
  is_finished = true;
}

void CountDroppedLines(prometheus::Counter* counter) {
  const std::lock_guard lock(dropped_mutex);
  dropped_lines = counter;
}

}  // namespace tallyd
