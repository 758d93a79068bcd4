// Writes JSON text for outputs whose exact bytes are part of a contract.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// Appends `text` as a JSON string with quotes. Escapes only what JSON requires. Bytes that are not UTF-8
// become \ufffd.
void AppendJsonString(std::string& out, std::string_view text);
// The same with the escapes of Go's json.Marshal: also <, >, &, U+2028 and U+2029.
void AppendGoJsonString(std::string& out, std::string_view text);
std::string GoJsonString(std::string_view text);

// Appends a list; append(out, item) appends one item.
template <class Items, class Append>
void AppendJsonList(std::string& out, const Items& items, Append&& append) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += ',';
    append(out, item);
  }
  out += ']';
}
// Appends a list of strings, escaped as by AppendJsonString.
void AppendJsonStrings(std::string& out, const std::vector<std::string>& texts);

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
  JsonObject& AddNumber(std::string_view key, std::int64_t number) {
    return AddRaw(key, std::to_string(number));
  }
  // These two add nothing if the value is empty.
  JsonObject& AddUnlessEmpty(std::string_view key, std::string_view text) {
    return text.empty() ? *this : Add(key, text);
  }
  JsonObject& AddUnlessEmpty(std::string_view key, const std::vector<std::string>& texts) {
    if (!texts.empty()) AppendJsonStrings(Key(key), texts);
    return *this;
  }
  // A number with a fraction, a boolean, null, or JSON made elsewhere.
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

}  // namespace berth
