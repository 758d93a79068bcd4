// The page over the scheduler's API (ui/): static files, which contain no data of a cluster.
#pragma once

#include <string_view>

#include "http/message.hpp"
#include "service/target.hpp"

namespace berth::service {

class Endpoints;

inline constexpr std::string_view kPageRoot = "/ui/";

// Whether the program was built with the page.
bool HasPage();

// The response to a request of any path: a file below kPageRoot, a redirection of /ui to it, 405 for methods
// other than GET and HEAD, otherwise 404. Compressed with gzip unless the client does not accept that. Every
// response forbids the browser to load or connect to anything but this server, to run inline scripts, to
// parse text as HTML (Trusted Types), and to show the page in a frame. Clients may keep a file, but must
// revalidate it by its ETag.
http::Response PageAnswer(const http::Request& request, const Target& target);

// Serves the page without authentication.
void AddPage(Endpoints& endpoints);

}  // namespace berth::service
