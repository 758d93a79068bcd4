// What a client wants to read, and answers in the form it wants.
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

// Best first; of two that are equally good, the more specific, then the first one.
std::vector<MediaRange> ParseAccept(std::string_view header);

// text/plain of ours, with the headers that every answer carries.
http::Response Plain(int status, std::string body, std::string_view content_type = kPlainText);
// As net/http's Error: the text, a newline, and no guessing what it might be.
http::Response PlainError(int status, std::string text);
http::Response NotFound();

// What a metav1.Status says.
struct StatusText {
  int code = 500;
  std::string reason;
  std::string message;
  bool with_details = false;  // an empty object, as errors of the generic API server have
};

// The status as JSON, YAML or protobuf, whatever the request's Accept likes best; indented for people (curl,
// wget, browsers, ?pretty=true). Where none of them will do it is indented JSON all the same.
http::Response StatusAnswer(const http::Request& request, const Target& target, const StatusText& status,
                            bool with_protobuf = true);

// Whether the answer is to be indented.
bool WantsPretty(const http::Request& request, const Target& target);

}  // namespace berth::service
