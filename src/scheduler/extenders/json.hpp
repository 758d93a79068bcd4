// JSON with the semantics of Go's encoding/json: the first value of a text counts, keys are case-insensitive,
// and error texts are Go's, because they are visible in events.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::extenders {

struct Extents;

// A value in a validated text: a view of the text and of the result of FirstValue, which must outlive it.
class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Json() = default;  // null
  explicit Json(std::string_view text) : text_(text) {}

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  std::string_view text() const { return text_; }
  // The name of the kind in Go's errors: "number", "string", "bool", "array", "object".
  std::string_view KindName() const;
  // The value of a string without quotes and escapes; invalid UTF-8 becomes U+FFFD.
  std::string String() const;

  // Calls visit(Json) for each item in order. Arrays only.
  template <class Visit>
  void ForEachItem(Visit&& visit) const {
    Cursor cursor(text_, extents_);
    while (cursor.Next()) visit(Json(cursor.TakeValue(), extents_));
  }
  // Calls visit(key, Json) for each member in order, including duplicates; `key` is the raw text with quotes.
  // Objects only.
  template <class Visit>
  void ForEachMember(Visit&& visit) const {
    Cursor cursor(text_, extents_);
    while (cursor.Next()) {
      const std::string_view key = cursor.TakeKey();
      visit(key, Json(cursor.TakeValue(), extents_));
    }
  }

 private:
  // Iterates over the members or items of a validated text.
  class Cursor {
   public:
    Cursor(std::string_view text, const Extents* extents) : text_(text), extents_(extents) {}
    bool Next();
    std::string_view TakeKey();
    std::string_view TakeValue();

   private:
    void SkipSpace();
    std::size_t EndOfPart(std::size_t begin) const;
    std::string_view text_;
    const Extents* extents_;
    std::size_t at_ = 1;
  };

  friend Expected<Json> FirstValue(std::string_view text, std::string_view cut_short);
  Json(std::string_view text, const Extents* extents) : text_(text), extents_(extents) {}
  Json(std::string_view text, std::shared_ptr<const Extents> extents)
      : text_(text), extents_(extents.get()), owned_(std::move(extents)) {}

  std::string_view text_ = "null";
  const Extents* extents_ = nullptr;      // null: unknown
  std::shared_ptr<const Extents> owned_;  // set in the result of FirstValue only
};

// The first value of the text, as read by json.Decoder; text after it is ignored. Errors: "EOF", "unexpected
// EOF", "invalid character 'h' looking for beginning of value", ... `cut_short` replaces the error of a
// truncated text; empty: Go's own text.
Expected<Json> FirstValue(std::string_view text, std::string_view cut_short = "");

// Whether the raw key equals the name, ignoring case. As in Go, the Kelvin sign equals k and the long s
// equals s.
bool IsKey(std::string_view quoted, std::string_view name);

// The text without quotes and escapes.
std::string Unquoted(std::string_view quoted);

}  // namespace berth::extenders
