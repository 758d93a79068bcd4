// Writes the few small JSON bodies that Berth sends: their members are known, and tests fix their order.
#pragma once

#include <string>
#include <string_view>

#include "base/json_text.hpp"

namespace berth::client {

// Members of one object: JsonObject(out).Add("name", name).Add("count", 2); the brace closes with the scope
// or Close.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { Close(); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  JsonObject& Add(std::string_view key, std::string_view text) {
    AppendJsonString(Key(key), text);
    return *this;
  }
  // A number, null, or JSON made elsewhere.
  JsonObject& AddRaw(std::string_view key, std::string_view json) {
    Key(key) += json;
    return *this;
  }
  // Adds a key; the caller appends its value to the returned text.
  std::string& Key(std::string_view key) {
    if (!empty_) out_ += ',';
    empty_ = false;
    AppendJsonString(out_, key);
    out_ += ':';
    return out_;
  }
  bool empty() const { return empty_; }
  void Close() {
    if (!closed_) out_ += '}';
    closed_ = true;
  }

 private:
  std::string& out_;
  bool empty_ = true;
  bool closed_ = false;
};

}  // namespace berth::client
