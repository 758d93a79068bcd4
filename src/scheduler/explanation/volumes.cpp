#include "scheduler/explanation/volumes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"

namespace berth::explanation {
namespace {

// "zone In (a, b) and disk Exists, or ..."
std::string NodeSelectorText(const api::NodeSelector& selector) {
  std::vector<std::string> terms;
  for (const api::NodeSelectorTerm& term : selector.terms) {
    std::vector<std::string> parts;
    for (const auto* list : {&term.match_expressions, &term.match_fields}) {
      for (const api::NodeSelectorRequirement& part : *list)
        parts.push_back(fmt::format("{} {} ({})", part.key, part.op, fmt::join(part.values, ", ")));
    }
    terms.push_back(fmt::format("{}", fmt::join(parts, " and ")));
  }
  return fmt::format("{}", fmt::join(terms, ", or "));
}

// VolumeZone's labels.
std::string ZoneText(const api::PersistentVolume& volume) {
  std::vector<std::string> zones;
  for (const auto& [key, value] : volume.metadata.labels) {
    if (key.ends_with("/zone") || key.ends_with("/region")) zones.push_back(fmt::format("{}={}", key, value));
  }
  return fmt::format("{}", fmt::join(zones, ", "));
}

std::vector<std::string> ClaimsIn(const Situation& at, const std::string& ns) {
  std::vector<std::string> existing;
  at.cluster.objects().Of<api::PersistentVolumeClaim>().ForEachIn(
      ns, [&](const auto& claim) { existing.push_back(claim->metadata.name); });
  return existing;
}

std::string MissingClaim(const Situation& at, const std::string& ns, const std::string& name) {
  const std::vector<std::string> existing = ClaimsIn(at, ns);
  std::string text = fmt::format("claim {}/{} does not exist", ns, name);
  if (existing.empty()) return text + fmt::format("; there is no claim in namespace {}", ns);
  if (const std::string nearest = Nearest(name, existing); !nearest.empty())
    return text + fmt::format("; nearest existing claim: {}", nearest);
  return text;
}

std::string UnboundClaim(const Situation& at, const api::PersistentVolumeClaim& claim) {
  const std::string name = api::StorageClassOf(claim);
  const auto& classes = at.cluster.objects().Of<api::StorageClass>();
  std::string text = fmt::format("claim {} is not bound", claim.metadata.Key());
  if (name.empty()) return text + " and has no storage class";
  const auto found = classes.Find(name);
  if (found == nullptr) {
    std::vector<std::string> existing;
    classes.ForEach([&](const auto& one) { existing.push_back(one->metadata.name); });
    const std::string nearest = Nearest(name, existing);
    text += fmt::format("; its storage class {} does not exist", name);
    return nearest.empty() ? text : text + fmt::format(", nearest existing one: {}", nearest);
  }
  if (found->volume_binding_mode != "WaitForFirstConsumer")
    return text + fmt::format("; its storage class {} binds immediately, so {} must create the volume", name,
                              found->provisioner);
  text += fmt::format("; its storage class {} provides volumes", name);
  std::vector<std::string> topologies;
  for (const api::StorageClass::TopologyTerm& term : found->allowed_topologies) {
    for (const auto& part : term)
      topologies.push_back(fmt::format("{} In ({})", part.key, fmt::join(part.values, ", ")));
  }
  return topologies.empty() ? text + " when the pod is placed"
                            : text + fmt::format(" only where {}", fmt::join(topologies, ", or "));
}

std::string ClaimText(const Situation& at, const std::string& ns, const std::string& name) {
  const auto claim = at.cluster.objects().Of<api::PersistentVolumeClaim>().Find(ns, name);
  if (claim == nullptr) return MissingClaim(at, ns, name);
  if (claim->volume_name.empty()) return UnboundClaim(at, *claim);
  const auto volume = at.cluster.objects().Of<api::PersistentVolume>().Find(claim->volume_name);
  if (volume == nullptr)
    return fmt::format("claim {} is bound to volume {}, which does not exist", claim->metadata.Key(),
                       claim->volume_name);
  std::string text = fmt::format("claim {} is bound to volume {}", claim->metadata.Key(), claim->volume_name);
  if (volume->node_affinity)
    return text + fmt::format(", usable on nodes with {}", NodeSelectorText(*volume->node_affinity));
  const std::string zones = ZoneText(*volume);
  return zones.empty() ? text : text + fmt::format(" in {}", zones);
}

// Calls visit(claim) for the existing claims of the pod.
template <class Visit>
void ForEachClaim(const Situation& at, Visit&& visit) {
  const api::Pod& pod = *at.pod.pod;
  for (const api::Volume& volume : pod.spec.volumes) {
    std::string name;
    if (volume.source == api::Volume::Source::kPersistentVolumeClaim) name = volume.id;
    if (volume.source == api::Volume::Source::kEphemeral)
      name = fmt::format("{}-{}", pod.metadata.name, volume.name);
    if (name.empty()) continue;
    if (const auto claim =
            at.cluster.objects().Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns.str(), name))
      visit(*claim);
  }
}

bool UsesClaim(const api::Pod& pod, const std::string& claim) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [&](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kPersistentVolumeClaim && volume.id == claim;
  });
}

}  // namespace

std::map<std::string, std::string> LabelsForVolumes(const Situation& at) {
  constexpr std::string_view kHostname = "kubernetes.io/hostname";
  constexpr std::string_view kSeparator = "__";  // between the zones of a volume that is in several
  std::map<std::string, std::string> labels;
  ForEachClaim(at, [&](const api::PersistentVolumeClaim& claim) {
    const auto volume = at.cluster.objects().Of<api::PersistentVolume>().Find(claim.volume_name);
    if (volume == nullptr) return;
    for (const auto& [key, value] : volume->metadata.labels) {
      if (key.ends_with("/zone") || key.ends_with("/region"))
        labels[key] = value.substr(0, value.find(kSeparator));
    }
    if (!volume->node_affinity || volume->node_affinity->terms.empty()) return;
    for (const api::NodeSelectorRequirement& part : volume->node_affinity->terms.front().match_expressions) {
      if (part.op == "In" && !part.values.empty()) labels[part.key] = part.values.front();
    }
  });
  if (labels.contains(std::string(kHostname))) labels.clear();
  return labels;
}

std::vector<api::PodPtr> UsersOfExclusiveClaims(const Situation& at) {
  std::vector<api::PodPtr> users;
  ForEachClaim(at, [&](const api::PersistentVolumeClaim& claim) {
    if (std::ranges::find(claim.access_modes, "ReadWriteOncePod") == claim.access_modes.end()) return;
    at.nodes().all().ForEach([&](std::size_t row) {
      for (const cluster::PlacedPod* placed : at.nodes().pods(static_cast<cluster::Row>(row))) {
        if (placed->pod->metadata.ns == claim.metadata.ns && UsesClaim(*placed->pod, claim.metadata.name))
          users.push_back(placed->pod);
      }
    });
  });
  std::ranges::sort(users, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
  users.erase(std::ranges::unique(users).begin(), users.end());
  return users;
}

std::vector<MisspelledClaim> MisspelledClaims(const Situation& at) {
  const api::Pod& pod = *at.pod.pod;
  const std::vector<std::string> existing = ClaimsIn(at, pod.metadata.ns.str());
  std::vector<MisspelledClaim> misspelled;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.source != api::Volume::Source::kPersistentVolumeClaim) continue;
    if (std::ranges::find(existing, volume.id) != existing.end()) continue;
    if (std::string nearest = Nearest(volume.id, existing); !nearest.empty())
      misspelled.push_back({volume.id, std::move(nearest)});
  }
  return misspelled;
}

std::vector<std::string> VolumeValues(const Situation& at) {
  const api::Pod& pod = *at.pod.pod;
  std::vector<std::string> values;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.source == api::Volume::Source::kPersistentVolumeClaim) {
      values.push_back(ClaimText(at, pod.metadata.ns.str(), volume.id));
    } else if (volume.source == api::Volume::Source::kEphemeral) {
      values.push_back(
          ClaimText(at, pod.metadata.ns.str(), fmt::format("{}-{}", pod.metadata.name, volume.name)));
    }
  }
  return values;
}

}  // namespace berth::explanation
