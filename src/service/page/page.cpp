#include "service/page/page.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"
#include "http/gzip.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"
#include "service/page/page_files.hpp"

namespace berth::service {
namespace {

constexpr std::string_view kSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

void AddProtection(http::Response& response) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string_view>>{
           {"Content-Security-Policy", kSecurityPolicy},
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Cross-Origin-Resource-Policy", "same-origin"}})
    response.headers.Add(name, std::string(value));
}

// Whether an If-None-Match header names the tag. The tags of this server contain no comma.
bool Matches(std::string_view given, std::string_view tag) {
  while (!given.empty()) {
    const std::size_t comma = given.find(',');
    std::string_view one = given.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with("W/")) one.remove_prefix(2);
    one = one.substr(0, one.find_last_not_of(' ') + 1);
    if (one == tag || one == "*") return true;
    given = comma == std::string_view::npos ? std::string_view() : given.substr(comma + 1);
  }
  return false;
}

http::Response FileAnswer(const http::Request& request, const PageFile& file) {
  http::Response response = Plain(200, "", file.content_type);
  response.headers.Add("ETag", std::string(file.etag));
  response.headers.Add("Vary", "Accept-Encoding");
  if (Matches(request.headers.Find("If-None-Match"), file.etag)) {
    response.status = 304;
    response.content_type.clear();
    response.body = nullptr;
    return response;
  }
  std::string content(file.gzip.begin(), file.gzip.end());
  if (http::PrefersGzip(request.headers.Find("Accept-Encoding"))) {
    response.headers.Add("Content-Encoding", "gzip");
  } else {
    auto text = http::Gunzip(content, file.size);
    BERTH_CHECK(text.has_value(), file.path);
    content = *std::move(text);
  }
  response.body = ShareText(std::move(content));
  return response;
}

http::Response AnswerOf(const http::Request& request, const Target& target) {
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response refusal = PlainError(405, "only GET is supported");
    refusal.headers.Add("Allow", "GET, HEAD");
    return refusal;
  }
  if (target.path + "/" == kPageRoot) {
    http::Response redirection = Plain(308, "");
    redirection.headers.Add("Location", std::string(kPageRoot));
    return redirection;
  }
  if (!target.path.starts_with(kPageRoot)) return NotFound();
  const std::string_view path = std::string_view(target.path).substr(kPageRoot.size());
  const std::span<const PageFile> files = PageFiles();
  const auto file = std::ranges::find(files, path, &PageFile::path);
  return file == files.end() ? NotFound() : FileAnswer(request, *file);
}

}  // namespace

bool HasPage() { return !PageFiles().empty(); }

http::Response PageAnswer(const http::Request& request, const Target& target) {
  http::Response response = AnswerOf(request, target);
  AddProtection(response);
  return response;
}

void AddPage(Endpoints& endpoints) {
  const Page page = [](const http::Request& request, const Target& target, const Respond& respond) {
    respond(PageAnswer(request, target));
  };
  endpoints.AddPublic("/ui", page);
  endpoints.AddPublic(std::string(kPageRoot), page);
}

}  // namespace berth::service
