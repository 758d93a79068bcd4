// Reads typed fields of kubeconfigs and credentials by the rules of Kubernetes' Go code: unknown fields are
// ignored, a value of another type is an error. The first error is kept, with its path; everything after it
// is ignored.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.hpp"

namespace berth::client {

// A mapping within a document. A field that is absent or null leaves its target unchanged.
class FieldReader {
 public:
  void Text(std::string_view key, std::string& out) const;
  void Boolean(std::string_view key, bool& out) const;
  void Texts(std::string_view key, std::vector<std::string>& out) const;
  // Standard base64; line breaks are ignored.
  void Base64(std::string_view key, std::string& out) const;
  // The field as JSON, of any type; empty if absent.
  std::string Json(std::string_view key) const;
  // A nested mapping, or nullopt.
  std::optional<FieldReader> Map(std::string_view key) const;
  // Calls visit for every item of a list of mappings.
  void EachItem(std::string_view key, const std::function<void(const FieldReader&)>& visit) const;
  void EachKey(const std::function<void(const std::string&)>& visit) const;
  // Records an error about this mapping.
  void Fail(std::string_view problem) const;

 private:
  friend std::optional<std::string> ReadDocument(std::string_view text,
                                                 const std::function<void(const FieldReader&)>& read);
  // `map` and `error` outlive the reader.
  FieldReader(const yaml::Value& map, std::string path, std::optional<std::string>& error)
      : map_(&map), path_(std::move(path)), error_(&error) {}

  // Null if absent or null.
  const yaml::Value* Find(std::string_view key) const;
  // The same; a value of another kind is recorded as an error and counts as absent.
  const yaml::Value* Find(std::string_view key, yaml::Value::Kind kind) const;
  std::string PathOf(std::string_view key) const;
  void Record(const std::string& where, std::string_view problem) const;

  const yaml::Value* map_;
  std::string path_;
  std::optional<std::string>* error_;
};

// Parses the first document and calls `read` with it; an empty document is not read. Returns the first error.
std::optional<std::string> ReadDocument(std::string_view text,
                                        const std::function<void(const FieldReader&)>& read);

}  // namespace berth::client
