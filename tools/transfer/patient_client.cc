#include "tools/transfer/patient_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <thread>

#include "config/values/time.h"
#include "tools/token_file.h"

namespace tallyd {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kFirstPause = 0.1;
constexpr double kLongestPause = 10;
constexpr double kLongestAsked = 60;
constexpr unsigned kDoublings = 7;
constexpr size_t kShownBytes = 500;

bool IsPassing(const HttpAnswer& answer) {
  constexpr std::array kPassing{408u, 429u, 502u, 503u, 504u, 507u};
  if (std::ranges::find(kPassing, answer.status) == kPassing.end()) return false;
  // Whether something counted that nobody will know later either.
  const Json said = Json::parse(answer.body, nullptr, false);
  return !said.is_object() || !said.contains("counted");
}

HttpQuestion StatusQuestion() { return {"GET", "/v1/status", {}, {}}; }

}  // namespace

double PauseBefore(unsigned attempt, std::string_view retry_after) {
  const double doubled = std::ldexp(kFirstPause, static_cast<int>(std::min(attempt, kDoublings)));
  unsigned asked = 0;
  std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), asked);
  const double believed = std::min(static_cast<double>(asked), kLongestAsked);
  return std::max(std::min(doubled, kLongestPause), believed);
}

std::string DetailOf(const HttpAnswer& answer) {
  const Json said = Json::parse(answer.body, nullptr, false);
  const bool tells = said.is_object() && said.contains("detail") && said["detail"].is_string();
  const std::string detail =
      tells ? said["detail"].get<std::string>() : answer.body.substr(0, kShownBytes);
  return fmt::format("{}: {}", answer.status, detail);
}

Status CheckCounts(const HttpAnswer& answer, size_t sent) {
  const Json said = Json::parse(answer.body, nullptr, false);
  const auto count = [&](const char* name) -> std::optional<uint64_t> {
    const auto found = said.find(name);
    if (found == said.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<uint64_t>();
  };
  if (said.is_object() && count("events")) {
    const uint64_t told = *count("events") + count("error_count").value_or(0);
    if (told == sent) return {};
  }
  return Error(ErrorCode::kIo,
               fmt::format("{} events were sent, and the answer does not account for them, so "
                           "nobody knows what is stored: {}",
                           sent, DetailOf(answer)));
}

Status CheckPage(const HttpAnswer& answer, std::string_view format) {
  const std::string_view type = format == "csv" ? "text/csv" : "application/x-ndjson";
  const auto wrong = [](const std::string& why) {
    return Error(ErrorCode::kIo, "the answer is no page of events, or not all of one: " + why);
  };
  if (!answer.content_type.starts_with(type)) {
    return wrong(fmt::format("its type is \"{}\", not {}", answer.content_type, type));
  }
  if (!answer.is_framed) return wrong("it does not say how long it is");
  if (answer.body.empty() && format != "csv") return {};
  const bool is_whole = answer.body.ends_with('\n') &&
                        (format != "csv" || std::ranges::count(answer.body, '"') % 2 == 0);
  return is_whole ? Status() : wrong("it ends in the midst of a line");
}

std::string NextPath(const HttpAnswer& answer) {
  const size_t end = answer.link.find('>');
  if (!answer.link.starts_with('<') || end == std::string::npos) return {};
  return answer.link.substr(1, end - 1);
}

Result<PatientClient> PatientClient::Make(const TransferLine& line) {
  Result<HttpTarget> target = ParseUrl(line.url, line.ca_file);
  if (!target) return target.error();
  return Make(std::move(*target), line);
}

Result<PatientClient> PatientClient::Make(HttpTarget target, const TransferLine& line) {
  PatientClient client;
  client.target_ = std::move(target);
  const Result<std::string> token = ReadTokenFile(line.token_file);
  if (!token) return token.error().Prefixed("--token-file");
  client.SetToken(*token);
  if (line.retry_for != "0") {
    const Result<int64_t> retry_for = ParseDuration(line.retry_for);
    if (!retry_for) return retry_for.error().Prefixed("--retry-for");
    client.retry_for_us_ = *retry_for;
  }
  return client;
}

void PatientClient::SetToken(const std::string& token) {
  authorization_ = token.empty() ? std::string() : "Bearer " + token;
}

HttpQuestion PatientClient::Authorized(HttpQuestion question) const {
  if (!authorization_.empty()) question.headers.emplace_back("Authorization", authorization_);
  return question;
}

Result<StoreMoment> PatientClient::Compare(const HttpAnswer& status,
                                           const StoreMoment& then) const {
  const Json store = status.status == kHttpOk ? StoreOfStatus(status.body) : Json::object();
  StoreMoment now = MomentOf(store);
  if (then.id.empty() || HasAllOf(store, then)) return now;
  if (now.id == then.id) {
    return Error(ErrorCode::kConflict,
                 fmt::format("the store of the daemon at {}:{} was put back from an older copy, "
                             "which lacks some of what was there: start anew",
                             target_.host, target_.port));
  }
  return Error(ErrorCode::kConflict,
               fmt::format("the daemon at {}:{} has another store by now ({}) than at the "
                           "beginning ({}): give it that one back, or start anew",
                           target_.host, target_.port,
                           now.id.empty() ? "it does not say which" : now.id, then.id));
}

Result<StoreMoment> PatientClient::CheckStore(const StoreMoment& then) const {
  const Result<HttpAnswer> answer = Ask(StatusQuestion());
  if (!answer) return answer.error();
  return Compare(*answer, then);
}

Result<HttpAnswer> PatientClient::Ask(HttpQuestion question) const {
  question = Authorized(std::move(question));
  const HttpQuestion status = Authorized(StatusQuestion());
  const auto give_up = SteadyClock::now() + std::chrono::microseconds(retry_for_us_);
  for (unsigned attempt = 0;; ++attempt) {
    const bool looks = attempt > 0 && !store_.id.empty();
    Result<HttpAnswer> answer = tallyd::Ask(target_, looks ? status : question);
    if (looks && answer && !IsPassing(*answer)) {
      if (const auto same = Compare(*answer, store_); !same) return same.error();
      answer = tallyd::Ask(target_, question);
    }
    if (answer && !IsPassing(*answer)) return answer;
    const std::string reason = answer ? DetailOf(*answer) : answer.error().message();
    const std::chrono::duration<double> pause(
        PauseBefore(attempt, answer ? answer->retry_after : std::string()));
    if (SteadyClock::now() + pause > give_up) {
      return Error(ErrorCode::kUnavailable, "giving up: " + reason);
    }
    if (attempt == 0) std::fprintf(stderr, "trying again: %s\n", reason.c_str());
    std::this_thread::sleep_for(pause);
  }
}

Result<std::string> PatientClient::Get(const std::string& path) const {
  Result<HttpAnswer> answer = Ask({"GET", path, {}, {}});
  if (!answer) return answer.error();
  if (answer->status != kHttpOk) return Error(ErrorCode::kConflict, DetailOf(*answer));
  return std::move(answer->body);
}

Result<Json> PatientClient::GetJson(const std::string& path) const {
  const Result<std::string> text = Get(path);
  if (!text) return text.error();
  Json said = Json::parse(*text, nullptr, false);
  if (said.is_object()) return said;
  return Error(ErrorCode::kIo, path + " does not answer with a JSON object");
}

}  // namespace tallyd
