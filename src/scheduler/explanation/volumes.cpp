#include "scheduler/explanation/volumes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

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

// A pod may have thousands of claims, and each missing one is compared with names of existing objects.
constexpr std::size_t kMostMissingClaims = 4;     // missing claims that are compared
constexpr std::size_t kMostComparedNames = 1000;  // existing names
constexpr std::size_t kMostDescribedClaims = 20;  // claims

// At most kMostComparedNames of them.
std::vector<std::string> ClaimsIn(const Situation& at, const std::string& ns) {
  std::vector<std::string> existing;
  at.cluster.objects().Of<api::PersistentVolumeClaim>().ForEachIn(ns, [&](const auto& claim) {
    if (existing.size() < kMostComparedNames) existing.push_back(claim->metadata.name);
  });
  return existing;
}

bool ClaimExists(const Situation& at, const std::string& ns, const std::string& claim) {
  return at.cluster.objects().Of<api::PersistentVolumeClaim>().Find(ns, claim) != nullptr;
}

// Empty: the volume has no claim.
std::string ClaimOf(const api::Pod& pod, const api::Volume& volume) {
  if (volume.source == api::Volume::Source::kPersistentVolumeClaim) return volume.id;
  if (volume.source == api::Volume::Source::kEphemeral)
    return fmt::format("{}-{}", pod.metadata.name, volume.name);
  return "";
}

std::string MissingClaim(const std::vector<std::string>& existing, const std::string& ns,
                         const std::string& name) {
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
    classes.ForEach([&](const auto& one) {
      if (existing.size() < kMostComparedNames) existing.push_back(one->metadata.name);
    });
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

std::string ExistingClaim(const Situation& at, const api::PersistentVolumeClaim& claim) {
  if (claim.volume_name.empty()) return UnboundClaim(at, claim);
  const auto volume = at.cluster.objects().Of<api::PersistentVolume>().Find(claim.volume_name);
  if (volume == nullptr)
    return fmt::format("claim {} is bound to volume {}, which does not exist", claim.metadata.Key(),
                       claim.volume_name);
  std::string text = fmt::format("claim {} is bound to volume {}", claim.metadata.Key(), claim.volume_name);
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
    const std::string name = ClaimOf(pod, volume);
    if (name.empty()) continue;
    if (const auto claim =
            at.cluster.objects().Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns.str(), name))
      visit(*claim);
  }
}

bool UsesAny(const api::Pod& pod, const std::set<std::string>& claims) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [&](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kPersistentVolumeClaim && claims.contains(volume.id);
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
  std::set<std::string> exclusive;
  ForEachClaim(at, [&](const api::PersistentVolumeClaim& claim) {
    if (std::ranges::find(claim.access_modes, "ReadWriteOncePod") != claim.access_modes.end())
      exclusive.insert(claim.metadata.name);
  });
  std::vector<api::PodPtr> users;
  if (exclusive.empty()) return users;
  at.nodes().all().ForEach([&](std::size_t row) {
    for (const cluster::PlacedPod* placed : at.nodes().pods(static_cast<cluster::Row>(row))) {
      if (placed->pod->metadata.ns == at.pod.pod->metadata.ns && UsesAny(*placed->pod, exclusive))
        users.push_back(placed->pod);
    }
  });
  std::ranges::sort(users, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
  return users;
}

std::vector<MisspelledClaim> MisspelledClaims(const Situation& at) {
  const api::Pod& pod = *at.pod.pod;
  const std::string ns = pod.metadata.ns.str();
  std::vector<std::string> missing;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.source != api::Volume::Source::kPersistentVolumeClaim || ClaimExists(at, ns, volume.id))
      continue;
    // To correct only some of them does not help.
    if (missing.size() == kMostMissingClaims) return {};
    missing.push_back(volume.id);
  }
  std::vector<MisspelledClaim> misspelled;
  if (missing.empty()) return misspelled;
  const std::vector<std::string> existing = ClaimsIn(at, ns);
  for (const std::string& name : missing) {
    if (std::string nearest = Nearest(name, existing); !nearest.empty())
      misspelled.push_back({name, std::move(nearest)});
  }
  return misspelled;
}

std::vector<std::string> VolumeValues(const Situation& at) {
  const api::Pod& pod = *at.pod.pod;
  const std::string ns = pod.metadata.ns.str();
  std::vector<std::string> missing, values;
  std::size_t more_missing = 0, more = 0;
  std::vector<std::string> candidates;
  for (const api::Volume& volume : pod.spec.volumes) {
    const std::string name = ClaimOf(pod, volume);
    if (name.empty()) continue;
    const auto claim = at.cluster.objects().Of<api::PersistentVolumeClaim>().Find(ns, name);
    if (claim == nullptr) {
      if (missing.empty()) candidates = ClaimsIn(at, ns);
      if (missing.size() < kMostMissingClaims) {
        missing.push_back(MissingClaim(candidates, ns, name));
      } else {
        ++more_missing;
      }
    } else if (values.size() < kMostDescribedClaims) {
      values.push_back(ExistingClaim(at, *claim));
    } else {
      ++more;
    }
  }
  if (more_missing > 0)
    missing.push_back(
        fmt::format("{} more {} not exist", more_missing, more_missing == 1 ? "claim does" : "claims do"));
  if (more > 0)
    values.push_back(fmt::format("{} more {}", more, more == 1 ? "claim exists" : "claims exist"));
  missing.insert(missing.end(), std::make_move_iterator(values.begin()),
                 std::make_move_iterator(values.end()));
  return missing;
}

}  // namespace berth::explanation
