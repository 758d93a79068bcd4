#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/nearest.hpp"
#include "tools/scheduler_perf/template_syntax.hpp"

namespace berth::scheduler_perf {
namespace {

constexpr std::size_t kLongestTemplate = 1 << 20;
constexpr std::size_t kDeepestTemplate = 100;
constexpr std::string_view kOpen = "{{", kClose = "}}";

struct Token {
  enum class Kind { kWord, kField, kVariable, kText, kNumber, kSymbol };
  Kind kind = Kind::kSymbol;
  std::string text;  // kField: with the dot; kVariable: with '$'; kText: the content
};

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c); }

// The length of the word that begins at `from`.
std::size_t WordLength(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && IsWordPart(text[end])) ++end;
  return end - from;
}

// A text in quotes with Go's simple escapes.
Expected<Token> ReadQuoted(std::string_view& rest) {
  const char quote = rest.front();
  Token token{Token::Kind::kText, {}};
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == quote) {
      rest.remove_prefix(i + 1);
      return token;
    }
    if (quote == '"' && rest[i] == '\\' && i + 1 < rest.size()) {
      const char escaped = rest[++i];
      token.text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    } else {
      token.text += rest[i];
    }
  }
  return Invalid("a text without closing quote");
}

Expected<Token> ReadToken(std::string_view& rest) {
  const char first = rest.front();
  if (first == '"' || first == '`') return ReadQuoted(rest);
  Token token;
  std::size_t length = 1;
  if (IsWordStart(first)) {
    token.kind = Token::Kind::kWord;
    length = WordLength(rest, 0);
  } else if (first == '$') {
    token.kind = Token::Kind::kVariable;
    length = 1 + WordLength(rest, 1);
  } else if (first == '.' && (rest.size() == 1 || !IsDigit(rest[1]))) {
    token.kind = Token::Kind::kField;
    length = 1 + WordLength(rest, 1);
  } else if (IsDigit(first) || ((first == '-' || first == '+') && rest.size() > 1 && IsDigit(rest[1]))) {
    token.kind = Token::Kind::kNumber;
    while (length < rest.size() && (IsWordPart(rest[length]) || rest[length] == '.')) ++length;
  } else if (rest.starts_with(":=")) {
    length = 2;
  } else if (std::string_view("()|=,").find(first) == std::string_view::npos) {
    return Invalid(fmt::format("unexpected character '{}'", first));
  }
  token.text = rest.substr(0, length);
  rest.remove_prefix(length);
  return token;
}

Expected<std::vector<Token>> ReadTokens(std::string_view action) {
  std::vector<Token> tokens;
  for (;;) {
    const std::size_t begin = action.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return tokens;
    action.remove_prefix(begin);
    BERTH_TRY(Token token, ReadToken(action));
    // White space ends a field: ".a .b" are two operands, ".a.b" is one.
    if (token.kind == Token::Kind::kField && begin > 0 && !tokens.empty())
      tokens.push_back({Token::Kind::kSymbol, " "});
    tokens.push_back(std::move(token));
  }
}

// Reads the tokens of one action.
class ActionParser {
 public:
  explicit ActionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  bool AtEnd() { return Peek() == nullptr; }
  bool TakeSymbol(std::string_view symbol) {
    const Token* token = Peek();
    if (token == nullptr || token->kind != Token::Kind::kSymbol || token->text != symbol) return false;
    ++next_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    const Token* token = Peek();
    if (token == nullptr || token->kind != Token::Kind::kWord || token->text != word) return false;
    ++next_;
    return true;
  }
  // "$a :=" or, with `range`, "$a, $b :="; empty if no declaration follows. Sets `assigns` for "=".
  std::vector<std::string> TakeVariables(bool& assigns) {
    const std::size_t start = next_;
    std::vector<std::string> names;
    while (const Token* token = Peek()) {
      if (token->kind != Token::Kind::kVariable || names.size() == 2) break;
      names.push_back(token->text);
      ++next_;
      if (TakeSymbol(",")) continue;
      assigns = TakeSymbol("=");
      if (assigns || TakeSymbol(":=")) return names;
      break;
    }
    next_ = start;
    return {};
  }
  Expected<TemplatePipeline> Pipeline(std::size_t depth = 0) {
    if (depth > kDeepestTemplate) return Invalid("too many parentheses");
    TemplatePipeline pipeline;
    do {
      BERTH_TRY(TemplateCommand command, Command(depth));
      pipeline.commands.push_back(std::move(command));
    } while (TakeSymbol("|"));
    return pipeline;
  }

 private:
  // Skips the mark of white space, which only Path needs.
  const Token* Peek() {
    if (next_ < tokens_.size() && tokens_[next_].text == " " && tokens_[next_].kind == Token::Kind::kSymbol)
      ++next_;
    return next_ < tokens_.size() ? &tokens_[next_] : nullptr;
  }
  Expected<TemplateCommand> Command(std::size_t depth) {
    TemplateCommand command;
    const Token* first = Peek();
    if (first != nullptr && first->kind == Token::Kind::kWord && IsTemplateFunction(first->text)) {
      command.function = first->text;
      ++next_;
    }
    for (;;) {
      BERTH_TRY(auto operand, Operand(depth));
      if (!operand) break;
      command.operands.push_back(*std::move(operand));
    }
    if (command.function.empty() && command.operands.empty()) return Invalid("a value is missing");
    if (command.function.empty() && command.operands.size() > 1)
      return Invalid("only a function has arguments");
    return command;
  }
  Expected<std::optional<TemplateOperand>> Operand(std::size_t depth) {
    const Token* token = Peek();
    if (token == nullptr) return std::nullopt;
    switch (token->kind) {
      case Token::Kind::kWord:
        return Word(*token);
      case Token::Kind::kText:
        ++next_;
        return TemplateOperand{TemplateOperand::Literal{token->text}};
      case Token::Kind::kNumber:
        return Number(*token);
      case Token::Kind::kField:
        return TemplateOperand{TemplateOperand::Dot{Path()}};
      case Token::Kind::kVariable: {
        std::string name = token->text;
        ++next_;
        return TemplateOperand{TemplateOperand::Variable{std::move(name), Path()}};
      }
      case Token::Kind::kSymbol:
        break;
    }
    if (!TakeSymbol("(")) return std::nullopt;
    BERTH_TRY(TemplatePipeline pipeline, Pipeline(depth + 1));
    if (!TakeSymbol(")")) return Invalid("a closing parenthesis is missing");
    return TemplateOperand{TemplateOperand::Parenthesised{{std::move(pipeline)}}};
  }
  Expected<std::optional<TemplateOperand>> Word(const Token& token) {
    ++next_;
    if (token.text == "nil") return TemplateOperand{TemplateOperand::Literal{}};
    if (token.text == "true" || token.text == "false")
      return TemplateOperand{TemplateOperand::Literal{token.text == "true"}};
    if (IsTemplateFunction(token.text))
      return TemplateOperand{TemplateOperand::Parenthesised{{{{{token.text, {}}}}}}};
    const std::string nearest = Nearest(token.text, TemplateFunctions());
    return Invalid(fmt::format("function \"{}\" is not supported{}", token.text,
                               nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
  Expected<std::optional<TemplateOperand>> Number(const Token& token) {
    ++next_;
    const char* const end = token.text.data() + token.text.size();
    const char* const begin = token.text.data() + (token.text[0] == '+' ? 1 : 0);
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(begin, end, whole); read.ec == std::errc() && read.ptr == end)
      return TemplateOperand{TemplateOperand::Literal{whole}};
    double real = 0;
    if (const auto read = std::from_chars(begin, end, real); read.ec == std::errc() && read.ptr == end)
      return TemplateOperand{TemplateOperand::Literal{real}};
    return Invalid(fmt::format("\"{}\" is not a number", token.text));
  }
  // The members that follow without white space. "." alone has none.
  std::vector<std::string> Path() {
    std::vector<std::string> path;
    if (const Token* dot = next_ < tokens_.size() ? &tokens_[next_] : nullptr;
        dot != nullptr && dot->kind == Token::Kind::kField && dot->text == ".") {
      ++next_;
      return path;
    }
    while (next_ < tokens_.size() && tokens_[next_].kind == Token::Kind::kField && tokens_[next_].text != ".")
      path.push_back(tokens_[next_++].text.substr(1));
    return path;
  }

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

// Reads a whole template: texts and actions.
class TemplateParser {
 public:
  using Nodes = std::vector<TextTemplate::Node>;
  using Kind = TextTemplate::Node::Kind;

  explicit TemplateParser(std::string_view text) : rest_(text) {}

  Expected<Nodes> Parse() {
    BERTH_TRY(Nodes nodes, List(0));
    if (!end_word_.empty()) return Fails(fmt::format("{{{{{}}}}} without if, range or with", end_word_));
    return nodes;
  }

 private:
  std::unexpected<Error> Fails(std::string_view why) const {
    return Invalid(fmt::format("line {}: {}", line_, why));
  }

  // Until {{end}} or {{else}}, which end_word_ then is, or the end of the text.
  Expected<Nodes> List(std::size_t depth) {
    if (depth > kDeepestTemplate) return Fails("too many levels");
    Nodes nodes;
    end_word_.clear();
    while (!rest_.empty()) {
      AddText(nodes);
      if (rest_.empty()) break;
      BERTH_TRY(const std::string_view action, TakeAction());
      if (action.starts_with("/*")) continue;
      auto tokens = ReadTokens(action);
      if (!tokens) return Fails(tokens.error().message);
      BERTH_TRY(const bool ends, Action(ActionParser(*std::move(tokens)), nodes, depth));
      if (ends) return nodes;
    }
    end_word_.clear();
    return nodes;
  }
  // The text up to the next action. "{{- " removes white space before it, " -}}" after it.
  void AddText(Nodes& nodes) {
    const std::size_t open = rest_.find(kOpen);
    std::string_view text = rest_.substr(0, open);
    rest_.remove_prefix(text.size());
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (trims_) text = TrimLeft(text);
    trims_ = false;
    if (rest_.size() > 3 && rest_[2] == '-' && IsSpace(rest_[3])) text = TrimRight(text);
    if (!text.empty()) nodes.emplace_back(Make(Kind::kText)).text = text;
    line_ += lines;
  }
  Expected<std::string_view> TakeAction() {
    rest_.remove_prefix(kOpen.size());
    if (rest_.size() > 1 && rest_[0] == '-' && IsSpace(rest_[1])) rest_.remove_prefix(1);
    const std::size_t close = FindClose();
    if (close == std::string_view::npos) return Fails("{{ without }}");
    std::string_view action = rest_.substr(0, close);
    rest_.remove_prefix(close + kClose.size());
    if (action.size() > 1 && action.back() == '-' && IsSpace(action[action.size() - 2])) {
      action.remove_suffix(1);
      trims_ = true;
    }
    line_ += static_cast<std::size_t>(std::ranges::count(action, '\n'));
    return TrimLeft(action);
  }
  // Outside of texts in quotes.
  std::size_t FindClose() const {
    char quote = 0;
    for (std::size_t i = 0; i + 1 < rest_.size(); ++i) {
      if (quote != 0) {
        if (quote == '"' && rest_[i] == '\\')
          ++i;
        else if (rest_[i] == quote)
          quote = 0;
      } else if (rest_[i] == '"' || rest_[i] == '`') {
        quote = rest_[i];
      } else if (rest_.substr(i).starts_with(kClose)) {
        return i;
      }
    }
    return std::string_view::npos;
  }
  // Whether the action ends the list.
  Expected<bool> Action(ActionParser action, Nodes& nodes, std::size_t depth) {
    if (action.TakeWord("end")) return Ends("end", action);
    if (action.TakeWord("else")) {
      else_ = std::move(action);
      end_word_ = "else";
      return true;
    }
    if (action.TakeWord("if")) return Block(Kind::kIf, std::move(action), nodes, depth);
    if (action.TakeWord("range")) return Block(Kind::kRange, std::move(action), nodes, depth);
    if (action.TakeWord("with")) return Block(Kind::kWith, std::move(action), nodes, depth);
    TextTemplate::Node node = Make(Kind::kPrint);
    bool assigns = false;
    node.variables = action.TakeVariables(assigns);
    if (node.variables.size() > 1) return Fails("only range has two variables");
    if (!node.variables.empty()) node.kind = assigns ? Kind::kAssign : Kind::kDeclare;
    BERTH_RETURN_IF_ERROR(ReadPipeline(action, node));
    nodes.push_back(std::move(node));
    return false;
  }
  Expected<bool> Ends(std::string_view word, ActionParser& action) {
    if (!action.AtEnd()) return Fails(fmt::format("unexpected text after {}", word));
    end_word_ = word;
    return true;
  }
  Expected<void> ReadPipeline(ActionParser& action, TextTemplate::Node& node) {
    auto pipeline = action.Pipeline();
    if (!pipeline) return Fails(pipeline.error().message);
    if (!action.AtEnd()) return Fails("unexpected text at the end of an action");
    node.pipeline = *std::move(pipeline);
    return {};
  }
  Expected<bool> Block(Kind kind, ActionParser action, Nodes& nodes, std::size_t depth) {
    TextTemplate::Node node = Make(kind);
    bool assigns = false;
    if (kind == Kind::kRange) node.variables = action.TakeVariables(assigns);
    if (assigns) return Fails("range needs := for its variables");
    BERTH_RETURN_IF_ERROR(ReadPipeline(action, node));
    BERTH_TRY(node.body, List(depth + 1));
    BERTH_RETURN_IF_ERROR(ReadElse(node, depth));
    nodes.push_back(std::move(node));
    return false;
  }
  // What follows the body of a block: {{end}}, {{else}} or {{else if ...}}.
  Expected<void> ReadElse(TextTemplate::Node& node, std::size_t depth) {
    if (end_word_ == "else") {
      ActionParser after = std::move(else_);
      if (after.TakeWord("if")) {
        BERTH_TRY(const bool ends, Block(Kind::kIf, std::move(after), node.otherwise, depth + 1));
        static_cast<void>(ends);
        return {};  // its {{end}} is that of this block
      }
      if (!after.AtEnd()) return Fails("unexpected text after else");
      BERTH_TRY(node.otherwise, List(depth + 1));
    }
    if (end_word_ != "end")
      return Fails(fmt::format("{{{{end}}}} is missing for the block of line {}", node.line));
    return {};
  }
  TextTemplate::Node Make(Kind kind) const {
    TextTemplate::Node node;
    node.kind = kind;
    node.line = line_;
    return node;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static std::string_view TrimLeft(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
  }
  static std::string_view TrimRight(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  bool trims_ = false;     // the last action ended with -}}
  std::string end_word_;   // what ended the last list
  ActionParser else_{{}};  // what follows the word, if that was else
};

}  // namespace

Expected<std::vector<TextTemplate::Node>> ParseTemplate(std::string_view text) {
  if (text.size() > kLongestTemplate)
    return Invalid(fmt::format("a template has at most {} bytes, got {}", kLongestTemplate, text.size()));
  return TemplateParser(text).Parse();
}

}  // namespace berth::scheduler_perf
