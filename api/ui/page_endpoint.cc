#include "api/ui/page_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/endpoint/compress.h"
#include "api/ui/page_files.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr char kStartFile[] = "index.html";
// "data:" is for the icon, which is empty. The page sends no form: what is typed is asked by its
// modules, so that no token ever gets into a URL. Browsers that know trusted types refuse to make
// markup or script of text, so that what comes from outside stays text.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

Response Guarded(Response answer) {
  answer.headers.emplace_back("Content-Security-Policy", kPolicy);
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  return answer;
}

Response NoSuchFile(std::string_view name) {
  std::string there;
  for (const PageFile& file : PageFiles()) {
    there.append(there.empty() ? "" : ", ").append(file.name);
  }
  return Problem(404, fmt::format("the page has no file '{}'; it has {}", name, there));
}

// The files lie in memory: nothing here waits, so the connection's own thread does it.
class PageEndpoint : public Endpoint {
 public:
  using Endpoint::Endpoint;

  Response Refused(RejectReason /*reason*/, Response problem) override {
    return Guarded(std::move(problem));
  }
};

class PageFileEndpoint final : public PageEndpoint {
 public:
  explicit PageFileEndpoint(Exchange& exchange) : PageEndpoint(exchange) {}

  asio::awaitable<Response> Answer() override { co_return Guarded(File()); }

 private:
  Response File();
};

Response PageFileEndpoint::File() {
  const bool is_start = request().arguments.empty();
  const std::string_view name = is_start ? kStartFile : std::string_view(request().arguments[0]);
  const auto file = std::ranges::find(PageFiles(), name, &PageFile::name);
  if (file == PageFiles().end()) return NoSuchFile(name);
  Response answer;
  answer.content_type = file->content_type;
  answer.body = file->content;
  CompressResponse(NegotiateEncoding(request().accept_encoding), &answer);
  return answer;
}

class PageRedirectEndpoint final : public PageEndpoint {
 public:
  explicit PageRedirectEndpoint(Exchange& exchange) : PageEndpoint(exchange) {}

  asio::awaitable<Response> Answer() override {
    Response answer;
    answer.status = 308;
    answer.content_type = "text/plain; charset=utf-8";
    answer.body = "the page is at ui/\n";
    answer.headers.emplace_back("Location", "ui/");
    co_return Guarded(std::move(answer));
  }
};

}  // namespace

std::unique_ptr<Endpoint> MakePageFile(Exchange& exchange) {
  return std::make_unique<PageFileEndpoint>(exchange);
}

std::unique_ptr<Endpoint> MakePageRedirect(Exchange& exchange) {
  return std::make_unique<PageRedirectEndpoint>(exchange);
}

}  // namespace tallyd
