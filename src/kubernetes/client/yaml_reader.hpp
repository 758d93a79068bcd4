// Reading typed fields out of YAML or JSON by the rules of Kubernetes' Go code (YAML 1.1, then JSON types).
// Unknown fields are not looked at. The first thing wrong is kept, with its path; everything after it is
// ignored.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::client::yaml {

// A mapping within a document. A field that is absent or null leaves its target alone.
class Reader {
 public:
  void Text(std::string_view key, std::string& out) const;
  void Boolean(std::string_view key, bool& out) const;
  void Texts(std::string_view key, std::vector<std::string>& out) const;
  // Standard base64; line breaks are ignored.
  void Base64(std::string_view key, std::string& out) const;
  // The field as JSON, whatever it is; empty if absent.
  std::string Json(std::string_view key) const;
  // A nested mapping, or nothing.
  std::optional<Reader> Map(std::string_view key) const;
  // Every item of a list of mappings.
  void EachItem(std::string_view key, const std::function<void(const Reader&)>& visit) const;
  void EachKey(const std::function<void(const std::string&)>& visit) const;
  // Says what is wrong with this mapping.
  void Fail(std::string_view problem) const;

  struct Node;  // of the YAML library
  explicit Reader(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const Node> node_;
};

// Parses the first document and lets `read` take what it wants; an empty document has nothing to read. What
// is wrong, if anything is.
std::optional<std::string> ReadDocument(std::string_view text,
                                        const std::function<void(const Reader&)>& read);

}  // namespace berth::client::yaml
