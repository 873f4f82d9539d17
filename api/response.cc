#include "api/response.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "ingest/text/json.h"

namespace tallyd {

Response Response::Of(unsigned status, const tallyd::Json& answer) {
  return Json(status, Dump(answer));
}

Response Response::Json(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.body.push_back('\n');
  return response;
}

unsigned HttpStatus(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kUnprocessable:
      return 422;
    case ErrorCode::kForbidden:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kUnsupported:
      return 415;
    case ErrorCode::kThrottled:
      return 429;
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInDoubt:
    case ErrorCode::kCancelled:
      return 503;
    case ErrorCode::kNoSpace:
      return 507;
    case ErrorCode::kCorruption:
    case ErrorCode::kIo:
      return 500;
  }
  return 500;
}

std::string_view ReasonPhrase(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

namespace {

std::string Readable(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string(text);
  std::string readable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      readable.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(readable), "\\x{:02X}", byte);
    }
  }
  return readable;
}

// It does not ask to be sent again.
Response ProblemOfDoubt(const Error& error) {
  Response response =
      Problem(HttpStatus(error.code()), error.message(), Json{{"counted", "unknown"}});
  std::erase_if(response.headers, [](const auto& header) { return header.first == "Retry-After"; });
  return response;
}

}  // namespace

Response Problem(unsigned status, std::string_view detail) {
  return Problem(status, detail, Json::object());
}

Response Problem(unsigned status, std::string_view detail, const Json& members) {
  std::string readable = Readable(detail);
  Json answer = {{"title", ReasonPhrase(status)}, {"status", status}, {"detail", readable}};
  answer.insert(members.begin(), members.end());
  Response response = Response::Of(status, answer);
  response.content_type = "application/problem+json";
  response.problem = std::move(readable);
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 507) response.headers.emplace_back("Retry-After", "5");
  return response;
}

void LetAgentsTryAgain(Response* problem) {
  // 429 says when already.
  if (problem->status == 408) problem->headers.emplace_back("Retry-After", "1");
  if (problem->status == 408 || problem->status == 429) problem->status = 503;
}

void PullFirstChunk(Response* response) {
  if (!response->source) return;
  const Result<Pulled> pulled = response->source->Pull(&response->body, Wake());
  if (!pulled) {
    *response = ProblemOf(pulled.error());
  } else if (*pulled == Pulled::kEnd) {
    response->source.reset();
  }
}

Response ProblemOf(const Error& error) {
  if (error.code() == ErrorCode::kInDoubt) return ProblemOfDoubt(error);
  Response response = Problem(HttpStatus(error.code()), error.message());
  if (error.retry_after() == 0) return response;
  for (auto& [name, value] : response.headers) {
    if (name == "Retry-After") value = std::to_string(error.retry_after());
  }
  return response;
}

}  // namespace tallyd
