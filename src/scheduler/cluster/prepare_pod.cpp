#include "scheduler/cluster/prepare_pod.hpp"

#include <fmt/format.h>
#include <boost/container_hash/hash.hpp>

#include <algorithm>
#include <set>

#include "kubernetes/api/read_conditions.hpp"
#include "kubernetes/api/requests.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::cluster {
namespace {

Amounts ToAmounts(const api::ResourceList& list, SymbolScope& symbols) {
  Amounts amounts;
  for (const auto& [name, quantity] : list) {
    const ResourceId id = symbols.InternResource(name);
    if (!id.known()) continue;
    if (id == kCpu) {
      amounts.milli_cpu = quantity.MilliValue();
    } else if (id == kMemory) {
      amounts.memory = quantity.Value();
    } else if (id == kEphemeralStorage) {
      amounts.ephemeral_storage = quantity.Value();
    } else {
      amounts.scalars.emplace_back(id, quantity.Value());
    }
  }
  return amounts;
}

void RaiseToZero(Amounts& amounts) {
  for (std::int64_t* value : {&amounts.milli_cpu, &amounts.memory, &amounts.ephemeral_storage}) {
    *value = std::max<std::int64_t>(*value, 0);
  }
  for (auto& [id, value] : amounts.scalars) value = std::max<std::int64_t>(value, 0);
}

CompiledRequirement Compile(const api::Requirement& requirement, SymbolScope& symbols) {
  CompiledRequirement compiled{requirement.op, symbols.InternKey(requirement.key), {}, requirement.bound};
  if (requirement.op == api::SelectorOp::kIn || requirement.op == api::SelectorOp::kNotIn) {
    for (const std::string& value : requirement.values) {
      compiled.labels.push_back(symbols.InternLabel(compiled.key, value));
    }
  }
  return compiled;
}

CompiledField CompileField(const api::Requirement& requirement, SymbolScope& symbols) {
  CompiledField field;
  field.is_name = requirement.key == "metadata.name";
  field.negated = requirement.op == api::SelectorOp::kNotIn;
  field.value_empty = requirement.values.front().empty();
  if (field.is_name) field.name = symbols.InternNodeName(requirement.values.front());
  return field;
}

// The node names that all required terms allow by metadata.name In, as read by kube-scheduler's PreFilter:
// any number of values, also of terms that are otherwise invalid.
void LimitNames(const std::vector<api::NodeSelectorTerm>& terms, NodeSelection& out, SymbolScope& symbols) {
  std::set<std::string> all;
  if (terms.empty()) return;
  for (const api::NodeSelectorTerm& term : terms) {
    std::optional<std::set<std::string>> allowed;
    for (const api::NodeSelectorRequirement& field : term.match_fields) {
      if (field.key != "metadata.name" || field.op != "In") continue;
      const std::set<std::string> values(field.values.begin(), field.values.end());
      if (!allowed) {
        allowed = values;
      } else {
        std::erase_if(*allowed, [&](const std::string& name) { return !values.contains(name); });
      }
    }
    if (!allowed) return;  // a term without a limit allows all nodes
    all.insert(allowed->begin(), allowed->end());
  }
  out.limits_names = true;
  for (const std::string& name : all) out.names.push_back(symbols.InternNodeName(name));
}

std::shared_ptr<const NodeSelection> Select(const api::PodSpec& spec, SymbolScope& symbols) {
  // Most pods allow all nodes.
  if (spec.node_selector.empty() && !spec.node_affinity) return symbols.symbols().all_nodes;
  NodeSelection selection;
  for (const auto& [key, value] : spec.node_selector) {
    selection.selector.push_back(symbols.InternLabel(symbols.InternKey(key), value));
  }
  if (!spec.node_affinity) return std::make_shared<const NodeSelection>(std::move(selection));
  if (spec.node_affinity->required) {
    selection.has_required = true;
    std::vector<std::string> errors;
    for (const api::NodeSelectorTerm& term : spec.node_affinity->required->terms) {
      const std::string path = fmt::format("nodeSelectorTerms[{}]", selection.required.size());
      selection.required.push_back(CompileTerm(term, path, &errors, symbols));
    }
    selection.required_error = api::JoinErrors(errors);
    LimitNames(spec.node_affinity->required->terms, selection, symbols);
  }
  selection.has_preferred = !spec.node_affinity->preferred.empty();
  selection.preferred =
      CompilePreferences(spec.node_affinity->preferred, &selection.preferred_error, symbols);
  return std::make_shared<const NodeSelection>(std::move(selection));
}

void CollectImages(const api::PodSpec& spec, PodShape& shape, SymbolScope& symbols) {
  const auto add = [&](std::string_view image) {
    shape.images.push_back(symbols.InternImage(NormalizedImageName(image)));
  };
  for (const api::Container& container : spec.init_containers) add(container.image);
  for (const api::Container& container : spec.containers) add(container.image);
  for (const std::string& image : spec.image_volumes) add(image);
  shape.image_users = static_cast<std::int64_t>(shape.images.size());
}

PodShape Compile(const api::PodPtr& pod, SymbolTable& symbols) {
  PodShape shape;
  SymbolScope scope(symbols);
  shape.model = pod;
  shape.fit = ToAmounts(api::PodRequests(*pod, {}), scope);
  RaiseToZero(shape.fit);
  shape.score = ToAmounts(api::PodRequests(*pod, {.non_zero_defaults = true, .pod_level = false}), scope);
  shape.use = UseOf(*pod, symbols);
  shape.selection = Select(pod->spec, scope);
  shape.spread = SpreadOf(*pod, true, symbols);
  CollectImages(pod->spec, shape, scope);
  shape.symbols = scope.Lease();
  return shape;
}

std::size_t HashOf(const PodUse& use) {
  std::size_t hash = 0;
  boost::hash_combine(hash, use.requested.milli_cpu);
  boost::hash_combine(hash, use.requested.memory);
  boost::hash_combine(hash, use.requested.scalars.size());
  boost::hash_combine(hash, use.ports.size());
  boost::hash_combine(hash, use.labels.get());  // equal labels and equal terms are the same object
  boost::hash_combine(hash, use.affinity.get());
  return hash;
}

// Hashes the fields that usually differ between workloads; SameShape compares the rest.
std::size_t HashOfShape(const api::Pod& pod) {
  const auto mixed = [](const auto& list, auto&& mix_in) {
    std::size_t hash = 0;
    for (const auto& item : list) mix_in(item, hash);
    return hash;
  };
  // Most pods share these objects with earlier pods.
  const std::size_t labels = pod.metadata.labels.Memo([&](const auto& list) {
    return mixed(list, [](const auto& label, auto& hash) { boost::hash_combine(hash, label.second); });
  });
  const std::size_t containers = pod.spec.containers.Memo([&](const auto& list) {
    return mixed(list, [](const api::Container& container, auto& hash) {
      boost::hash_combine(hash, container.image);
      for (const auto& [name, amount] : container.resources.requests)
        boost::hash_combine(hash, amount.Hash());
    });
  });
  const std::size_t tolerations = pod.spec.tolerations.Memo([&](const auto& list) {
    return mixed(list,
                 [](const auto& toleration, auto& hash) { boost::hash_combine(hash, toleration.value); });
  });
  std::size_t hash = 0;
  boost::hash_combine(hash, pod.metadata.ns);
  for (const std::size_t part : {labels, containers, tolerations}) boost::hash_combine(hash, part);
  for (const api::Volume& volume : pod.spec.volumes) boost::hash_combine(hash, volume.id);
  // The pods of a DaemonSet differ in the node that they name.
  if (pod.spec.node_affinity && pod.spec.node_affinity->required) {
    for (const api::NodeSelectorTerm& term : pod.spec.node_affinity->required->terms) {
      for (const api::NodeSelectorRequirement& field : term.match_fields) {
        for (const std::string& value : field.values) boost::hash_combine(hash, value);
      }
    }
  }
  return hash;
}

}  // namespace

CompiledTerm CompileTerm(const api::NodeSelectorTerm& term, std::string_view path,
                         std::vector<std::string>* errors, SymbolScope& symbols) {
  CompiledTerm compiled;
  compiled.never = term.empty();
  const auto place = [&](std::string_view list, std::size_t index) {
    return fmt::format("{}{}{}[{}]", path, path.empty() ? "" : ".", list, index);
  };
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    const auto parsed =
        api::ParseNodeRequirement(term.match_expressions[i], place("matchExpressions", i), errors);
    if (parsed) {
      compiled.labels.push_back(Compile(*parsed, symbols));
    } else {
      compiled.never = true;
    }
  }
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    const auto parsed = api::ParseFieldRequirement(term.match_fields[i], place("matchFields", i), errors);
    if (parsed) {
      compiled.fields.push_back(CompileField(*parsed, symbols));
    } else {
      compiled.never = true;
    }
  }
  return compiled;
}

std::vector<CompiledPreference> CompilePreferences(const std::vector<api::PreferredSchedulingTerm>& terms,
                                                   std::string* error, SymbolScope& symbols) {
  std::vector<CompiledPreference> compiled;
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight == 0 || terms[i].preference.empty()) continue;
    CompiledTerm term = CompileTerm(terms[i].preference, fmt::format("[{}]", i), &errors, symbols);
    compiled.push_back({terms[i].weight, std::move(term)});
  }
  *error = api::JoinErrors(errors);
  return compiled;
}

bool SameShape(const api::Pod& a, const api::Pod& b) {
  if (&a == &b) return true;
  const api::ObjectMeta& x = a.metadata;
  const api::ObjectMeta& y = b.metadata;
  return x.ns == y.ns && x.labels == y.labels && x.deleting() == y.deleting() &&
         x.controller == y.controller && x.annotations == y.annotations && api::SameDemands(a.spec, b.spec) &&
         api::SameResources(a.status, b.status) && api::SameReadConditions(a.status, b.status);
}

PodInfo PreparePod(api::PodPtr pod, SymbolTable& symbols) {
  PodInfo info;
  info.key = pod->metadata.Key();
  if (!pod->spec.node_name.empty()) info.node_name = symbols.node_names.Intern(pod->spec.node_name);
  if (!pod->status.nominated_node_name.empty()) {
    info.nominated = symbols.node_names.Intern(pod->status.nominated_node_name);
  }
  info.shape = symbols.pod_shapes.Get(
      HashOfShape(*pod), [&](const PodShape& known) { return SameShape(*known.model, *pod); },
      [&] { return Compile(pod, symbols); });
  info.pod = std::move(pod);
  return info;
}

// Host ports of containers and sidecars count; those of ordinary init containers do not.
PodUsePtr UseOf(const api::Pod& pod, SymbolTable& symbols) {
  PodUse use;
  SymbolScope scope(symbols);
  use.requested = ToAmounts(api::PodRequests(pod, {.use_status = true}), scope);
  const api::NonZeroUse non_zero = api::NonZeroRequests(pod);
  use.non_zero_milli_cpu = non_zero.milli_cpu;
  use.non_zero_memory = non_zero.memory;
  AnyHostPort(pod, [&](const api::ContainerPort& port) {
    const AddressId address = port.host_ip.empty() ? kAnyAddress : scope.InternAddress(port.host_ip);
    use.ports.push_back({symbols.InternPort(port.protocol, port.host_port), address});
    return false;
  });
  std::ranges::sort(use.ports);
  use.labels = LabelsOf(pod, symbols);
  use.affinity = AffinityOf(pod, symbols);
  use.has_volumes = !pod.spec.volumes.empty();
  return symbols.pod_uses.Get(
      HashOf(use), [&](const PodUse& known) { return known == use; },
      [&] {
        use.symbols = scope.Lease();
        return std::move(use);
      });
}

std::string NormalizedImageName(std::string_view name) {
  const auto colon = name.rfind(':');
  const auto slash = name.rfind('/');
  const bool tagged = colon != name.npos && (slash == name.npos || colon > slash);
  return tagged ? std::string(name) : std::string(name) + ":latest";
}

}  // namespace berth::cluster
