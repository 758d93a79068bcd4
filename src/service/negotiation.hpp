// Content negotiation: the formats that a client accepts, and responses in them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace berth::service {

struct Target;

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

// One clause of an Accept header.
struct MediaRange {
  std::string type, subtype;
  double quality = 1;
  std::map<std::string, std::string, std::less<>> params{};
};

// Sorted by preference; at equal quality the more specific range first, then the order in the header. Ranges
// after the first 64 are ignored.
std::vector<MediaRange> ParseAccept(std::string_view header);

// A plain-text response with the headers that every response carries.
http::Response Plain(int status, std::string body, std::string_view content_type = kPlainText);
// Like net/http's Error: the text, a newline, and X-Content-Type-Options: nosniff.
http::Response PlainError(int status, std::string text);
http::Response NotFound();

// The content of a metav1.Status.
struct StatusText {
  int code = 500;
  std::string reason;
  std::string message;
  bool with_details = false;  // an empty object, as in errors of the generic API server
};

// The status as JSON, YAML or protobuf, by the request's Accept; indented for human readers (curl, wget,
// browsers, ?pretty=true). If the client accepts none of these, indented JSON.
http::Response StatusAnswer(const http::Request& request, const Target& target, const StatusText& status,
                            bool with_protobuf = true);

// Whether the response should be indented.
bool ShouldIndent(const http::Request& request, const Target& target);

}  // namespace berth::service
