// HTTP messages as seen by a server's handler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_text.hpp"

namespace berth::http {

// In wire order; names keep their spelling and are compared case-insensitively.
class Headers {
 public:
  using Entry = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Entry> entries) : entries_(entries) {}
  void Add(std::string name, std::string value) { entries_.emplace_back(std::move(name), std::move(value)); }
  // The first value of the header with this name; empty if there is none.
  std::string_view Find(std::string_view name) const;
  // All values of the headers with this name, in order.
  std::vector<std::string_view> All(std::string_view name) const;
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

// The identity in a client certificate.
struct PeerCertificate {
  bool trusted = false;  // signed by the configured authority
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> user_ids;             // Kubernetes' attribute of the subject, 1.3.6.1.4.1.57683.2
  std::vector<std::string> chain;                // DER: the client's own certificate, then the others it sent
  std::string serial_number;                     // decimal
  std::string subject_key_id, authority_key_id;  // bytes; empty if the certificate has none
  std::int64_t not_after = 0;                    // Unix seconds
};

struct Request {
  std::string method;  // GET, POST, ...
  std::string target;  // path and query, as sent
  Headers headers;
  std::string body;                                  // complete, chunking undone
  std::shared_ptr<const PeerCertificate> peer = {};  // over TLS, if the client presented a certificate
};

// The server adds Content-Length, Date and Connection.
struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  // empty: no Content-Type header
  SharedText body = {};                                    // null: no body
  Headers headers = {};
};

// A piece of a streamed body. The shared text is framed without a copy per reader: a watch event is
// {"type":"ADDED","object":<text>}. `before` and `after` must outlive the stream; literals do.
struct Piece {
  std::string_view before;
  SharedText text = {};
  std::string_view after = {};

  std::size_t size() const { return before.size() + (text ? text->size() : 0) + after.size(); }
};

}  // namespace berth::http
