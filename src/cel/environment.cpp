#include <fmt/format.h>

#include <algorithm>

#include "cel/cel.hpp"
#include "cel/checker.hpp"
#include "cel/parser.hpp"
#include "cel/plan.hpp"

namespace berth::cel {

Environment::Environment() {
  AddStandardLibrary(functions_);
  AddTimeFunctions(functions_);
  AddKubernetesUrls(functions_);
  AddKubernetesRegex(functions_);
  AddKubernetesAuthorization(functions_);
  AddOptionalLibrary(functions_);
  AddStringsLibrary(functions_);
  AddSetsLibrary(functions_);
  AddKubernetesIp(functions_);
  AddKubernetesCidr(functions_);
  AddKubernetesFormat(functions_);
  AddComprehensionsLibrary(functions_);
  AddKubernetesSemver(functions_);
  AddListsLibrary(functions_);
  AddKubernetesLists(functions_);
  types_ = {BoolType(),    BytesType(),  DoubleType(),  DurationType(), IntType(),
            DynListType(), DynMapType(), NullType(),    StringType(),   TimestampType(),
            TypeType(),    UintType(),   OptionalType()};
  AddTypeName(OpaqueOf("net.IP"));
  AddTypeName(OpaqueOf("net.CIDR"));
}

void Environment::AddVariable(std::string name, TypePtr type) {
  variables_.emplace_back(std::move(name), std::move(type));
}

void Environment::AddObject(std::string name, std::vector<ObjectField> fields) {
  objects_.emplace_back(std::move(name), std::move(fields));
}

void Environment::AddTypeName(TypePtr type) { types_.push_back(std::move(type)); }

int Environment::VariableIndex(std::string_view name) const {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].first == name) return static_cast<int>(i);
  }
  return -1;
}

TypePtr Environment::FindType(std::string_view name, bool planned) const {
  for (const TypePtr& type : types_) {
    if (type->name == name) return type;
  }
  if (planned) return nullptr;
  // Kubernetes' declarations have names that no value has.
  if (name == "duration") return DurationType();
  if (name == "timestamp") return TimestampType();
  return HasFields(name) ? ObjectOf(std::string(name)) : nullptr;
}

bool Environment::HasFields(std::string_view type) const {
  return std::any_of(objects_.begin(), objects_.end(),
                     [&](const auto& object) { return object.first == type; });
}

TypePtr Environment::FindField(std::string_view type, std::string_view field) const {
  for (const auto& [name, fields] : objects_) {
    if (name != type) continue;
    for (const ObjectField& candidate : fields) {
      if (candidate.name == field) return candidate.type;
    }
  }
  return nullptr;
}

std::optional<Program> Environment::Compile(std::string_view expression, CompileError& error) const {
  const Source source(expression);
  ErrorList errors;
  Ast ast(source);
  CheckedTypes checked;
  const auto fail = [&](CompileError::Phase phase, std::string message) {
    error = {phase, std::move(message),
             phase == CompileError::Phase::kPlan ? checked.TypeOf(ast.root) : nullptr};
    return std::nullopt;
  };
  if (source.size() > size_limit_) {
    errors.Add({}, fmt::format("expression code point size exceeds limit: size: {}, limit {}", source.size(),
                               size_limit_));
    return fail(CompileError::Phase::kCheck, errors.Format(source));
  }
  Parse(ast, errors);
  if (errors.empty()) checked = Check(ast, *this, errors);
  if (errors.empty()) Validate(ast, checked, errors);
  if (!errors.empty()) return fail(CompileError::Phase::kCheck, errors.Format(source));
  std::string message;
  std::shared_ptr<const Plan> plan = MakePlan(ast, checked, *this, message);
  if (plan == nullptr) return fail(CompileError::Phase::kPlan, std::move(message));
  return Program(std::move(plan), checked.TypeOf(ast.root));
}

}  // namespace berth::cel
