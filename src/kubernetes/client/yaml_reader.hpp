// Reads typed fields from YAML or JSON by the rules of Kubernetes' Go code (YAML 1.1, then JSON types).
// Unknown fields are ignored. Keeps the first error with its path and ignores everything after it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::client::yaml {

// A mapping within a document. A field that is absent or null leaves its target unchanged.
class Reader {
 public:
  void Text(std::string_view key, std::string& out) const;
  void Boolean(std::string_view key, bool& out) const;
  void Texts(std::string_view key, std::vector<std::string>& out) const;
  // Standard base64; line breaks are ignored.
  void Base64(std::string_view key, std::string& out) const;
  // The field of any type as JSON; empty if absent.
  std::string Json(std::string_view key) const;
  // A nested mapping, or nullopt.
  std::optional<Reader> Map(std::string_view key) const;
  // Calls `visit` for every item of a list of mappings.
  void EachItem(std::string_view key, const std::function<void(const Reader&)>& visit) const;
  void EachKey(const std::function<void(const std::string&)>& visit) const;
  // Reports an error in this mapping.
  void Fail(std::string_view problem) const;

  struct Node;  // of the YAML library
  explicit Reader(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const Node> node_;
};

// Parses the first document and calls `read` with it, unless it is empty. Returns the error, if any.
std::optional<std::string> ReadDocument(std::string_view text,
                                        const std::function<void(const Reader&)>& read);

}  // namespace berth::client::yaml
