// JSON as Go's encoding/json takes it: the first value of a text counts, keys are found in any case, and what
// is wrong is said in Go's words, since those words end up in events.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::extenders {

struct Extents;

// A value inside a text that has been checked: a view, of the text and of what FirstValue returned.
class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Json() = default;  // null
  explicit Json(std::string_view text) : text_(text) {}

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  std::string_view text() const { return text_; }
  // What Go calls the kind in its errors: "number", "string", "bool", "array", "object".
  std::string_view KindName() const;
  // Of a string, without quotes and escapes; what is no UTF-8 becomes U+FFFD.
  std::string String() const;

  // visit(Json), in order. Only of an array.
  template <class Visit>
  void ForEachItem(Visit&& visit) const {
    Cursor cursor(text_, extents_);
    while (cursor.Next()) visit(Json(cursor.TakeValue(), extents_));
  }
  // visit(std::string_view key as written, quotes included, Json), in order, repetitions included. Only of an
  // object.
  template <class Visit>
  void ForEachMember(Visit&& visit) const {
    Cursor cursor(text_, extents_);
    while (cursor.Next()) {
      const std::string_view key = cursor.TakeKey();
      visit(key, Json(cursor.TakeValue(), extents_));
    }
  }

 private:
  // Walks over the members or items of a checked text.
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
  const Extents* extents_ = nullptr;      // null: not known
  std::shared_ptr<const Extents> owned_;  // of the whole text only
};

// The first value of the text, as json.Decoder reads it; what follows is not looked at. Errors: "EOF",
// "unexpected EOF", "invalid character 'h' looking for beginning of value", ... `cut_short` stands for what
// is read where the text ends too early: why nothing more came; empty for Go's own words.
Expected<Json> FirstValue(std::string_view text, std::string_view cut_short = "");

// Is the key, as written, this name in any case? As Go folds: the Kelvin sign is a k, the long s an s.
bool IsKey(std::string_view quoted, std::string_view name);

// Without quotes and escapes.
std::string Unquoted(std::string_view quoted);

}  // namespace berth::extenders
