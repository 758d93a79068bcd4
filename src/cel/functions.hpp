// Declarations and implementations of functions. Libraries add their functions to a registry; the checker
// resolves calls against it, and the planner binds implementations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/type.hpp"
#include "cel/value.hpp"

namespace berth::cel {

// What a function may use while it runs.
struct CallContext {
  Budget& budget;
};

using Arguments = std::span<const Value>;
// Returns the result or an error value. Arguments match the overload's types.
using Implementation = Value (*)(CallContext&, Arguments);

// How cel-go calls an implementation. kUnary and kBinary evaluate all arguments before the first error is
// returned, kVariadic stops at the first error: costs depend on it.
enum class CallForm : std::uint8_t { kUnary, kBinary, kVariadic };

struct Overload {
  std::string id;
  bool member = false;
  std::vector<TypePtr> args;
  TypePtr result;
  Implementation implementation = nullptr;
  CallForm form = CallForm::kVariadic;
  bool non_strict = false;  // called with errors as arguments, too
};

// Properties of a run-time type that an operand must have.
enum class Trait : std::uint8_t {
  kNone,
  kAdder,
  kComparer,
  kDivider,
  kModder,
  kMultiplier,
  kNegator,
  kSubtractor,
  kSizer,
  kMatcher,
  kLister,
};
bool HasTrait(const Value& value, Trait trait);

struct Function {
  std::string name;
  std::vector<Overload> overloads;
  // One implementation for all overloads, used whatever overload was resolved.
  Implementation singleton = nullptr;
  CallForm singleton_form = CallForm::kUnary;
  Trait operand_trait = Trait::kNone;
  bool type_guards = true;  // implementations are only called with arguments of the declared types
};

class FunctionRegistry {
 public:
  // Adds an overload; the form follows from the number of arguments unless `variadic`.
  void Add(std::string_view function, Overload overload, bool variadic = false);
  void AddGlobal(std::string_view function, std::string id, std::vector<TypePtr> args, TypePtr result,
                 Implementation implementation, bool variadic = false);
  void AddMember(std::string_view function, std::string id, std::vector<TypePtr> args, TypePtr result,
                 Implementation implementation, bool variadic = false);
  void SetSingleton(std::string_view function, Implementation implementation, CallForm form,
                    Trait trait = Trait::kNone);
  void DisableTypeGuards(std::string_view function);

  const Function* Find(std::string_view name) const { return Share(name).get(); }
  // The function as it is now: it outlives the registry, and later additions do not change it.
  std::shared_ptr<const Function> Share(std::string_view name) const;

 private:
  Function& Get(std::string_view name);
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions_;
};

// ---- the libraries; `kubernetes`: those that Kubernetes adds

void AddStandardLibrary(FunctionRegistry& registry);
void AddTimeFunctions(FunctionRegistry& registry);
void AddOptionalLibrary(FunctionRegistry& registry);
void AddStringsLibrary(FunctionRegistry& registry);         // ext.Strings, version 2
void AddListsLibrary(FunctionRegistry& registry);           // ext.Lists, version 3
void AddSetsLibrary(FunctionRegistry& registry);            // ext.Sets
void AddComprehensionsLibrary(FunctionRegistry& registry);  // ext.TwoVarComprehensions
void AddKubernetesLists(FunctionRegistry& registry);
void AddKubernetesRegex(FunctionRegistry& registry);
void AddKubernetesUrls(FunctionRegistry& registry);
void AddKubernetesIp(FunctionRegistry& registry);
void AddKubernetesCidr(FunctionRegistry& registry);
void AddKubernetesFormat(FunctionRegistry& registry);
void AddKubernetesSemver(FunctionRegistry& registry);
void AddKubernetesAuthorization(
    FunctionRegistry& registry);  // declarations only: no value of its types exists

}  // namespace berth::cel
