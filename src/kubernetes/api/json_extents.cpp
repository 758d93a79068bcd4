#include "kubernetes/api/json_extents.hpp"

namespace berth::api::json {
namespace {

// A position in a text. Every step returns false at the end of the text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Goes to the next character that is not white space.
  bool SkipSpace() {
    at_ = text_.find_first_not_of(" \t\r\n", at_);
    if (at_ == text_.npos) at_ = text_.size();
    return at_ < text_.size();
  }
  // Whether the next character but white space is this one, which is then consumed.
  bool Take(char wanted) {
    if (!SkipSpace() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  // The next value, consumed.
  std::optional<std::string_view> Value() {
    if (!SkipSpace()) return std::nullopt;
    const std::size_t begin = at_;
    const char first = text_[at_];
    const bool complete = first == '"' ? String() : first == '{' || first == '[' ? Brackets() : Scalar();
    if (!complete) return std::nullopt;
    return text_.substr(begin, at_ - begin);
  }

 private:
  bool String() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    at_ = text_.size();
    return false;
  }
  bool Brackets() {
    std::size_t depth = 0;
    while ((at_ = text_.find_first_of("\"{}[]", at_)) != text_.npos) {
      const char c = text_[at_];
      if (c == '"') {
        if (!String()) return false;
        continue;
      }
      ++at_;
      depth += c == '{' || c == '[' ? 1 : -1;
      if (depth == 0) return true;
    }
    at_ = text_.size();
    return false;
  }
  bool Scalar() {
    const std::size_t begin = at_;
    at_ = text_.find_first_of(",}] \t\r\n", at_);
    if (at_ == text_.npos) at_ = text_.size();
    return at_ > begin;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string_view> MemberText(std::string_view object, std::string_view name) {
  Scanner scanner(object);
  if (!scanner.Take('{')) return std::nullopt;
  do {
    const auto key = scanner.Value();
    if (!key || !key->starts_with('"') || !scanner.Take(':')) return std::nullopt;
    const auto value = scanner.Value();
    if (!value) return std::nullopt;
    if (key->substr(1, key->size() - 2) == name) return value;
  } while (scanner.Take(','));
  return std::nullopt;
}

std::optional<std::vector<std::string_view>> ItemTexts(std::string_view list) {
  Scanner scanner(list);
  if (!scanner.Take('[')) return std::nullopt;
  std::vector<std::string_view> items;
  if (scanner.Take(']')) return items;
  do {
    const auto item = scanner.Value();
    if (!item) return std::nullopt;
    items.push_back(*item);
  } while (scanner.Take(','));
  if (!scanner.Take(']')) return std::nullopt;
  return items;
}

}  // namespace berth::api::json
