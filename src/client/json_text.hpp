// JSON by hand, for the few small bodies we send: their members are known and their order is part of the
// tests.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace berth::client {

// `text` is valid UTF-8, as everything is that came through a decoder.
inline void AppendJson(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // where the run of characters begins that need no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    }
  }
  out.append(text, plain);
  out += '"';
}

// Members of one object: JsonObject(out).Add("name", name).Add("count", 2); the brace closes with the scope
// or Close.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { Close(); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  JsonObject& Add(std::string_view key, std::string_view text) {
    AppendJson(Key(key), text);
    return *this;
  }
  // A number, null, or JSON made elsewhere.
  JsonObject& AddRaw(std::string_view key, std::string_view json) {
    Key(key) += json;
    return *this;
  }
  // The place for a value that the caller appends.
  std::string& Key(std::string_view key) {
    if (!empty_) out_ += ',';
    empty_ = false;
    AppendJson(out_, key);
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
