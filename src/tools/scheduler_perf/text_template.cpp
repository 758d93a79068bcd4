#include "tools/scheduler_perf/text_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tools/scheduler_perf/template_syntax.hpp"

namespace berth::scheduler_perf {
namespace {

constexpr std::size_t kLongestText = 4 << 20;
constexpr std::size_t kMostSteps = 1'000'000;

// A value of the data: lists and maps by reference.
TemplateValue ValueOf(const yaml::Value* value) {
  if (value == nullptr) return std::monostate();
  switch (value->kind) {
    case yaml::Value::Kind::kNull:
      return std::monostate();
    case yaml::Value::Kind::kBool:
      return value->text == "true";
    case yaml::Value::Kind::kNumber: {
      double number = 0;
      std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
      return number;
    }
    case yaml::Value::Kind::kString:
      return value->text;
    case yaml::Value::Kind::kList:
    case yaml::Value::Kind::kMap:
      break;
  }
  return value;
}

class Execution {
 public:
  using Node = TextTemplate::Node;

  Execution(const yaml::Value& data, std::int64_t index, std::int64_t count)
      : data_(data), index_(index), count_(count) {}

  Expected<std::string> Run(const std::vector<Node>& nodes) {
    variables_.emplace_back("$", &data_);
    BERTH_RETURN_IF_ERROR(RunAll(nodes, &data_));
    return std::move(out_);
  }

 private:
  Expected<void> RunAll(const std::vector<Node>& nodes, const TemplateValue& dot) {
    const std::size_t variables = variables_.size();
    for (const Node& node : nodes) {
      if (auto done = RunNode(node, dot); !done) return done;
      if (out_.size() > kLongestText) return Fails(node, "the text is longer than 4 MiB");
    }
    variables_.resize(variables);
    return {};
  }
  Expected<void> RunNode(const Node& node, const TemplateValue& dot) {
    if (++steps_ > kMostSteps) return Fails(node, "more than 1,000,000 steps");
    if (node.kind == Node::Kind::kText) {
      out_ += node.text;
      return {};
    }
    auto value = Evaluate(node.pipeline, dot);
    if (!value) return Fails(node, value.error().message);
    switch (node.kind) {
      case Node::Kind::kText:
        break;
      case Node::Kind::kPrint:
        out_ += Print(*value);
        break;
      case Node::Kind::kDeclare:
        variables_.emplace_back(node.variables[0], *std::move(value));
        break;
      case Node::Kind::kAssign:
        return Assign(node, *std::move(value));
      case Node::Kind::kIf:
        return RunAll(IsTrue(*value) ? node.body : node.otherwise, dot);
      case Node::Kind::kWith:
        return IsTrue(*value) ? RunAll(node.body, *value) : RunAll(node.otherwise, dot);
      case Node::Kind::kRange:
        return Range(node, *value, dot);
    }
    return {};
  }
  Expected<void> Assign(const Node& node, TemplateValue value) {
    const auto found = FindVariable(node.variables[0]);
    if (found == variables_.rend())
      return Fails(node, fmt::format("undefined variable {}", node.variables[0]));
    found->second = std::move(value);
    return {};
  }
  Expected<void> Range(const Node& node, const TemplateValue& over, const TemplateValue& dot) {
    if (!IsTrue(over)) return RunAll(node.otherwise, dot);
    if (const auto* number = std::get_if<std::int64_t>(&over)) {
      for (std::int64_t i = 0; i < *number; ++i) BERTH_RETURN_IF_ERROR(Pass(node, i, i));
      return {};
    }
    const auto* value = std::get_if<const yaml::Value*>(&over);
    if (value == nullptr)
      return Fails(node, fmt::format("range: expected a whole number, a list or a map, got {}", Print(over)));
    for (std::size_t i = 0; i < (*value)->items.size(); ++i)
      BERTH_RETURN_IF_ERROR(Pass(node, static_cast<std::int64_t>(i), ValueOf(&(*value)->items[i])));
    std::vector<const std::pair<std::string, yaml::Value>*> members;
    for (const auto& member : (*value)->members) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return member->first; });
    for (const auto* member : members)
      BERTH_RETURN_IF_ERROR(Pass(node, member->first, ValueOf(&member->second)));
    return {};
  }
  // One pass of a range: one variable is the element, two are key and element.
  Expected<void> Pass(const Node& node, const TemplateValue& key, const TemplateValue& element) {
    if (++steps_ > kMostSteps) return Fails(node, "more than 1,000,000 steps");
    const std::size_t variables = variables_.size();
    if (node.variables.size() == 2) variables_.emplace_back(node.variables[0], key);
    if (!node.variables.empty()) variables_.emplace_back(node.variables.back(), element);
    BERTH_RETURN_IF_ERROR(RunAll(node.body, element));
    variables_.resize(variables);
    return {};
  }

  Expected<TemplateValue> Evaluate(const TemplatePipeline& pipeline, const TemplateValue& dot) {
    TemplateValue value;
    for (std::size_t i = 0; i < pipeline.commands.size(); ++i) {
      const TemplateCommand& command = pipeline.commands[i];
      std::vector<TemplateValue> arguments;
      for (const TemplateOperand& operand : command.operands) {
        BERTH_TRY(TemplateValue argument, ValueOfOperand(operand, dot));
        arguments.push_back(std::move(argument));
      }
      if (i > 0) arguments.push_back(std::move(value));
      if (++steps_ > kMostSteps) return Invalid("more than 1,000,000 steps");
      if (command.function.empty()) {
        if (arguments.size() > 1) return Invalid("only a function can follow |");
        value = std::move(arguments[0]);
      } else {
        BERTH_TRY(value, CallTemplateFunction(command.function, arguments));
      }
    }
    return value;
  }
  Expected<TemplateValue> ValueOfOperand(const TemplateOperand& operand, const TemplateValue& dot) {
    if (const auto* literal = std::get_if<TemplateOperand::Literal>(&operand.kind)) return literal->value;
    if (const auto* field = std::get_if<TemplateOperand::Dot>(&operand.kind)) return Follow(dot, field->path);
    if (const auto* variable = std::get_if<TemplateOperand::Variable>(&operand.kind)) {
      const auto found = FindVariable(variable->name);
      if (found == variables_.rend()) return Invalid(fmt::format("undefined variable {}", variable->name));
      return Follow(found->second, variable->path);
    }
    return Evaluate(std::get<TemplateOperand::Parenthesised>(operand.kind).pipeline.front(), dot);
  }
  // A missing member is nil.
  Expected<TemplateValue> Follow(TemplateValue value, const std::vector<std::string>& path) {
    for (const std::string& name : path) {
      const auto* map = std::get_if<const yaml::Value*>(&value);
      if (map == nullptr || (*map)->kind != yaml::Value::Kind::kMap)
        return Invalid(fmt::format("{} has no field {}", Print(value), name));
      if (*map == &data_ && name == "Index") {
        value = index_;
      } else if (*map == &data_ && name == "Count") {
        value = count_;
      } else {
        value = ValueOf((*map)->Find(name));
      }
    }
    return value;
  }
  using Variables = std::vector<std::pair<std::string, TemplateValue>>;
  Variables::reverse_iterator FindVariable(std::string_view name) {
    return std::find_if(variables_.rbegin(), variables_.rend(),
                        [&](const auto& each) { return each.first == name; });
  }
  static std::unexpected<Error> Fails(const Node& node, std::string_view why) {
    return Invalid(fmt::format("line {}: {}", node.line, why));
  }

  const yaml::Value& data_;
  const std::int64_t index_, count_;
  std::string out_;
  Variables variables_;  // the innermost last
  std::size_t steps_ = 0;
};

}  // namespace

TextTemplate::TextTemplate(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
TextTemplate::~TextTemplate() = default;
TextTemplate::TextTemplate(TextTemplate&&) noexcept = default;
TextTemplate& TextTemplate::operator=(TextTemplate&&) noexcept = default;

Expected<TextTemplate> TextTemplate::Parse(std::string_view text) {
  BERTH_TRY(std::vector<Node> nodes, ParseTemplate(text));
  return TextTemplate(std::move(nodes));
}

bool TextTemplate::constant() const {
  return std::ranges::all_of(nodes_, [](const Node& node) { return node.kind == Node::Kind::kText; });
}

Expected<std::string> TextTemplate::Execute(const yaml::Value& data, std::int64_t index,
                                            std::int64_t count) const {
  return Execution(data, index, count).Run(nodes_);
}

}  // namespace berth::scheduler_perf
