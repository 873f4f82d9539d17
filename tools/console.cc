#include "tools/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace tallyd {
namespace {

constexpr std::chrono::milliseconds kBetweenBars(200);
constexpr std::chrono::milliseconds kBetweenLines(5000);
constexpr uint64_t kBarCells = 30;

bool IsNumber(std::string_view cell) {
  return !cell.empty() && std::ranges::all_of(cell, [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ' ' || c == 'B' || c == 'k' ||
           c == 'M' || c == 'G' || c == 'T';
  });
}

}  // namespace

std::string TextTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  std::vector<bool> numbers(rows.front().size(), rows.size() > 1);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
      if (&row != &rows.front() && !IsNumber(row[i])) numbers[i] = false;
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += numbers[i] ? fmt::format("{:>{}}", row[i], widths[i])
                         : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    }
  }
  return out;
}

std::string ProgressText(std::string_view step, uint64_t done, uint64_t total, double seconds) {
  std::string text(step);
  if (total > 0) {
    const uint64_t percent = std::min(done, total) * 100 / total;
    text += fmt::format(": {} % of {}", percent, FormatBytes(total));
  }
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / 1e6 / seconds;
    text += fmt::format("{} {:.1f} MB/s", total > 0 ? "," : ":", rate);
  }
  return text;
}

ProgressLine::ProgressLine(const ToolProgress& progress)
    : progress_(progress), terminal_(::isatty(STDERR_FILENO) == 1) {
  const auto between = terminal_ ? kBetweenBars : kBetweenLines;
  thread_.Start(between, [this, between, start = std::chrono::steady_clock::now()] {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    Show(took.count());
    return between;
  });
}

ProgressLine::~ProgressLine() {
  thread_.Stop();
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::Show(double seconds) {
  const uint64_t done = progress_.done;
  const uint64_t total = progress_.total;
  const std::string text = ProgressText(progress_.step.load(), done, total, seconds);
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return;
  }
  const uint64_t full = total > 0 ? std::min(done, total) * kBarCells / total : 0;
  const std::string bar = std::string(full, '#') + std::string(kBarCells - full, '.');
  std::fprintf(stderr, "\r\x1b[K[%s] %s", bar.c_str(), text.c_str());
  std::fflush(stderr);
}

}  // namespace tallyd
