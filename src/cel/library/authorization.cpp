// The declarations of Kubernetes' authorization library. No variable of an environment has its types, so that
// the functions can only be called with values of other types and fail then.
#include "cel/functions.hpp"

namespace berth::cel {
namespace {

Value NeverCalled(CallContext&, Arguments) { return Value::NoSuchOverload(); }

}  // namespace

void AddKubernetesAuthorization(FunctionRegistry& registry) {
  const auto object = [](const char* name) {
    return ObjectOf(std::string("kubernetes.authorization.") + name);
  };
  const TypePtr authorizer = object("Authorizer");
  const TypePtr path = object("PathCheck");
  const TypePtr group = object("GroupCheck");
  const TypePtr resource = object("ResourceCheck");
  const TypePtr decision = object("Decision");
  const TypePtr& s = StringType();
  const auto add = [&](const char* function, const char* id, std::vector<TypePtr> args,
                       const TypePtr& result) {
    registry.AddMember(function, id, std::move(args), result, NeverCalled);
  };
  add("path", "authorizer_path", {authorizer, s}, path);
  add("group", "authorizer_group", {authorizer, s}, group);
  add("serviceAccount", "authorizer_serviceaccount", {authorizer, s, s}, authorizer);
  add("resource", "groupcheck_resource", {group, s}, resource);
  add("subresource", "resourcecheck_subresource", {resource, s}, resource);
  add("namespace", "resourcecheck_namespace", {resource, s}, resource);
  add("name", "resourcecheck_name", {resource, s}, resource);
  add("check", "pathcheck_check", {path, s}, decision);
  add("check", "resourcecheck_check", {resource, s}, decision);
  add("errored", "decision_errored", {decision}, BoolType());
  add("error", "decision_error", {decision}, s);
  add("allowed", "decision_allowed", {decision}, BoolType());
  add("reason", "decision_reason", {decision}, s);
  add("fieldSelector", "authorizer_fieldselector", {resource, s}, resource);
  add("labelSelector", "authorizer_labelselector", {resource, s}, resource);
}

}  // namespace berth::cel
