#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "sandbox/api_server/validate.hpp"

namespace berth::sandbox {
namespace {

// The shapes, as text: field:type, field{members}, field[]{members}. Types: s string, i integer, b boolean,
// m map of strings, l list of strings, r map of quantities, q quantity, o object.
constexpr std::string_view kMetadata =
    "metadata{name:s generateName:s namespace:s uid:s resourceVersion:s generation:i creationTimestamp:s "
    "deletionTimestamp:s deletionGracePeriodSeconds:i labels:m annotations:m finalizers:l "
    "ownerReferences[]{apiVersion:s kind:s name:s uid:s controller:b blockOwnerDeletion:b}} ";

constexpr std::string_view kContainers =
    "{name:s image:s command:l args:l imagePullPolicy:s restartPolicy:s "
    "resources{requests:r limits:r claims[]{name:s request:s}} "
    "ports[]{name:s containerPort:i hostPort:i protocol:s hostIP:s}} ";

constexpr std::string_view kLabelSelector = "{matchLabels:m matchExpressions[]{key:s operator:s values:l}}";
constexpr std::string_view kNodeTerm =
    "{matchExpressions[]{key:s operator:s values:l} matchFields[]{key:s operator:s values:l}}";

std::string PodSpecShape() {
  const std::string pod_term = fmt::format(
      "labelSelector{0} namespaceSelector{0} namespaces:l topologyKey:s matchLabelKeys:l mismatchLabelKeys:l",
      kLabelSelector);
  const std::string pod_affinity = fmt::format(
      "{{requiredDuringSchedulingIgnoredDuringExecution[]{{{0}}} "
      "preferredDuringSchedulingIgnoredDuringExecution[]{{weight:i podAffinityTerm{{{0}}}}}}}", pod_term);
  const std::string node_affinity = fmt::format(
      "{{requiredDuringSchedulingIgnoredDuringExecution{{nodeSelectorTerms[]{0}}} "
      "preferredDuringSchedulingIgnoredDuringExecution[]{{weight:i preference{0}}}}}", kNodeTerm);
  return fmt::format(
      "{{nodeName:s schedulerName:s priority:i priorityClassName:s preemptionPolicy:s restartPolicy:s hostNetwork:b "
      "terminationGracePeriodSeconds:i serviceAccountName:s runtimeClassName:s nodeSelector:m overhead:r "
      "schedulingGates[]{{name:s}} tolerations[]{{key:s operator:s value:s effect:s tolerationSeconds:i}} "
      "containers[]{0} initContainers[]{0} ephemeralContainers[]{0} resources{{requests:r limits:r}} "
      "volumes[]{{name:s persistentVolumeClaim{{claimName:s readOnly:b}}}} "
      "resourceClaims[]{{name:s resourceClaimName:s resourceClaimTemplateName:s}} "
      "topologySpreadConstraints[]{{maxSkew:i topologyKey:s whenUnsatisfiable:s labelSelector{1} minDomains:i "
      "nodeAffinityPolicy:s nodeTaintsPolicy:s matchLabelKeys:l}} "
      "affinity{{nodeAffinity{2} podAffinity{3} podAntiAffinity{3}}}}} ",
      kContainers, kLabelSelector, node_affinity, pod_affinity);
}

constexpr std::string_view kConditions = "conditions[]{type:s status:s reason:s message:s lastTransitionTime:s} ";

// By plural; kinds that are missing have their metadata checked, and spec and status must be objects.
std::map<std::string, std::string, std::less<>> ShapeTexts() {
  const std::string pod_spec = PodSpecShape();
  const std::string workload =
      fmt::format("spec{{replicas:i parallelism:i completions:i selector:o template{{{}spec{}}}}} status:o ",
                  kMetadata, pod_spec);
  return {
      {"pods", fmt::format("spec{} status{{phase:s nominatedNodeName:s podIP:s startTime:s {}}} ", pod_spec, kConditions)},
      {"nodes", fmt::format("spec{{unschedulable:b podCIDR:s taints[]{{key:s value:s effect:s}}}} "
                            "status{{capacity:r allocatable:r images[]{{names:l sizeBytes:i}} {}"
                            "addresses[]{{type:s address:s}}}} ", kConditions)},
      {"namespaces", "spec{finalizers:l} status{phase:s} "},
      {"deployments", workload}, {"replicasets", workload}, {"statefulsets", workload}, {"daemonsets", workload},
      {"jobs", workload},
      {"replicationcontrollers", fmt::format("spec{{replicas:i selector:m template{{{}spec{}}}}} status:o ", kMetadata, pod_spec)},
      {"leases", "spec{holderIdentity:s leaseDurationSeconds:i acquireTime:s renewTime:s leaseTransitions:i "
                 "strategy:s preferredHolder:s} "},
      {"priorityclasses", "value:i globalDefault:b description:s preemptionPolicy:s "},
      {"services", "spec{selector:m type:s clusterIP:s ports[]{name:s port:i protocol:s}} status:o "},
      {"events", "involvedObject{kind:s namespace:s name:s uid:s apiVersion:s resourceVersion:s fieldPath:s} related:o "
                 "reason:s message:s type:s action:s count:i eventTime:s firstTimestamp:s lastTimestamp:s "
                 "reportingComponent:s reportingInstance:s source{component:s host:s} "
                 "series{count:i lastObservedTime:s} "},
      {"poddisruptionbudgets", fmt::format("spec{{selector{}}} status{{disruptionsAllowed:i currentHealthy:i "
                                           "desiredHealthy:i}} ", kLabelSelector)},
      {"configmaps", "data:m binaryData:m immutable:b "},
      {"secrets", "data:m stringData:m type:s immutable:b "},
  };
}

struct Shape {
  char type = 'o';
  bool list = false;
  std::map<std::string, Shape, std::less<>> members;
};

// Reads members up to '}' or the end.
void ParseMembers(std::string_view& text, Shape& shape) {
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    if (text.front() == '}') {
      text.remove_prefix(1);
      return;
    }
    const auto end = text.find_first_of(":[{");
    Shape& member = shape.members[std::string(text.substr(0, end))];
    text.remove_prefix(end);
    if (text.starts_with("[]")) {
      member.list = true;
      text.remove_prefix(2);
    }
    if (text.front() == '{') {
      text.remove_prefix(1);
      ParseMembers(text, member);
    } else {
      member.type = text[1];
      text.remove_prefix(2);
    }
  }
}

const Shape& ShapeOf(const ResourceType& type) {
  static const auto shapes = [] {
    std::vector<Shape> all;
    const auto texts = ShapeTexts();
    for (const auto& resource : Resources()) {
      const auto found = texts.find(resource.plural);
      const std::string text = std::string(kMetadata) + (found != texts.end() ? found->second : "");
      std::string_view rest = text;
      ParseMembers(rest, all.emplace_back());
    }
    return all;
  }();
  return shapes[type.index];
}

std::string_view GoKind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string: return "string";
    case json::kind::bool_: return "bool";
    case json::kind::object: return "object";
    case json::kind::array: return "array";
    case json::kind::null: return "null";
    default: return "number";
  }
}

// ^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$ and a suffix that exists.
bool IsQuantity(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  bool digits = false;
  bool point = false;
  while (!text.empty() && ((text[0] >= '0' && text[0] <= '9') || (text[0] == '.' && !point))) {
    digits = digits || text[0] != '.';
    point = point || text[0] == '.';
    text.remove_prefix(1);
  }
  if (!digits) return false;
  static constexpr std::string_view kSuffixes[] = {"", "n", "u", "m", "k", "M", "G", "T", "P", "E",
                                                   "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (std::ranges::find(kSuffixes, text) != std::end(kSuffixes)) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() < 4 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class Checker {
 public:
  explicit Checker(const ResourceType& type) : type_(type) {}

  ApiResult<> Check(json::object& object, const Shape& shape, const std::string& path) {
    for (auto& entry : object) {
      const auto member = shape.members.find(std::string_view(entry.key()));
      if (member == shape.members.end() || entry.value().is_null()) continue;
      BERTH_CHECKED(Member(entry.value(), member->second, path.empty() ? std::string(entry.key())
                                                                       : path + "." + std::string(entry.key())));
    }
    return {};
  }

 private:
  ApiResult<> Member(json::value& value, const Shape& shape, const std::string& path) {
    if (!shape.list) return One(value, shape, path);
    if (!value.is_array()) return Wrong(value, path, "[]object");
    for (auto& element : value.get_array()) BERTH_CHECKED(One(element, shape, path));
    return {};
  }

  ApiResult<> One(json::value& value, const Shape& shape, const std::string& path) {
    switch (shape.type) {
      case 's': return value.is_string() ? ApiResult<>() : Wrong(value, path, "string");
      case 'b': return value.is_bool() ? ApiResult<>() : Wrong(value, path, "bool");
      case 'i': return Integer(value, path);
      case 'm': return Map(value, path, false);
      case 'r': return Map(value, path, true);
      case 'l': return List(value, path);
      default: break;
    }
    if (!value.is_object()) return Wrong(value, path, "object");
    return Check(value.get_object(), shape, path);
  }

  ApiResult<> Integer(json::value& value, const std::string& path) {
    if (value.is_int64() || value.is_uint64()) return {};
    return Wrong(value, path, "int64");
  }

  ApiResult<> List(json::value& value, const std::string& path) {
    if (!value.is_array()) return Wrong(value, path, "[]string");
    for (const auto& element : value.get_array()) {
      if (!element.is_string()) return Wrong(element, path, "string");
    }
    return {};
  }

  ApiResult<> Map(json::value& value, const std::string& path, bool quantities) {
    if (!value.is_object()) return Wrong(value, path, quantities ? "v1.ResourceList" : "map[string]string");
    for (auto& entry : value.get_object()) {
      json::value& member = entry.value();
      if (quantities && member.is_number()) member = json::string(json::serialize(member));
      if (member.is_null()) continue;
      if (!member.is_string()) return Wrong(member, path, quantities ? "resource.Quantity" : "string");
      if (quantities && !IsQuantity(member.get_string())) {
        return Refuse("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      }
    }
    return {};
  }

  ApiResult<> Wrong(const json::value& value, const std::string& path, std::string_view wanted) {
    return Refuse(fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", GoKind(value),
                              type_.kind, path, wanted));
  }
  ApiResult<> Refuse(std::string_view why) {
    return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", type_.kind, type_.version,
                                  why));
  }

  const ResourceType& type_;
};

}  // namespace

ApiResult<> CheckShape(const ResourceType& type, json::object& document) {
  Checker checker(type);
  BERTH_CHECKED(checker.Check(document, ShapeOf(type), ""));
  for (const std::string_view part : {"spec", "status"}) {
    const json::value* value = Find(document, part);
    if (value != nullptr && !value->is_object() && !value->is_null()) {
      return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: json: cannot unmarshal {2} into "
                                    "Go struct field {0}.{3} of type object", type.kind, type.version, GoKind(*value), part));
    }
  }
  return {};
}

}  // namespace berth::sandbox
