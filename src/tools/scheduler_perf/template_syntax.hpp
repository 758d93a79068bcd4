// The syntax tree of a template; private to this module.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/yaml.hpp"
#include "tools/scheduler_perf/text_template.hpp"

namespace berth::scheduler_perf {

// A value during the execution. Lists and maps are those of the data, which outlives the execution.
using TemplateValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, const yaml::Value*>;

struct TemplatePipeline;

struct TemplateOperand {
  struct Literal {
    TemplateValue value;
  };
  // `path`: the members after it.
  struct Dot {
    std::vector<std::string> path;
  };
  struct Variable {
    std::string name;  // with '$'
    std::vector<std::string> path;
  };
  struct Parenthesised {
    std::vector<TemplatePipeline> pipeline;  // exactly one
  };
  std::variant<Literal, Dot, Variable, Parenthesised> kind;
};

// A function with arguments, or one operand.
struct TemplateCommand {
  std::string function;  // empty: none
  std::vector<TemplateOperand> operands;
};

// The value of each command is the last argument of the next one.
struct TemplatePipeline {
  std::vector<TemplateCommand> commands;
};

struct TextTemplate::Node {
  enum class Kind { kText, kPrint, kDeclare, kAssign, kIf, kRange, kWith };
  Kind kind = Kind::kText;
  std::size_t line = 0;
  std::string text;                    // kText
  std::vector<std::string> variables;  // kDeclare, kAssign, kRange
  TemplatePipeline pipeline;
  std::vector<Node> body, otherwise;
};

// Errors name the line.
Expected<std::vector<TextTemplate::Node>> ParseTemplate(std::string_view text);

// Calls the function, which must exist (IsTemplateFunction).
Expected<TemplateValue> CallTemplateFunction(const std::string& name,
                                             const std::vector<TemplateValue>& arguments);
bool IsTemplateFunction(std::string_view name);
const std::vector<std::string>& TemplateFunctions();
// As `if` decides.
bool IsTrue(const TemplateValue& value);
// As Go prints it.
std::string Print(const TemplateValue& value);

}  // namespace berth::scheduler_perf
