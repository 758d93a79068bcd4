#include "kubernetes/api/csi_migration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/trim.hpp"

namespace berth::api {
namespace {

using Pv = PersistentVolume::Source;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";

constexpr CsiMigration kEbs{"kubernetes.io/aws-ebs", "ebs.csi.aws.com", true};
constexpr CsiMigration kGcePd{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true};
constexpr CsiMigration kAzureDisk{"kubernetes.io/azure-disk", "disk.csi.azure.com", true};
constexpr CsiMigration kCinder{"kubernetes.io/cinder", "cinder.csi.openstack.org", true};
constexpr CsiMigration kPortworx{"kubernetes.io/portworx-volume", "pxd.portworx.com", true};
constexpr CsiMigration kAzureFile{"kubernetes.io/azure-file", "file.csi.azure.com", false};
constexpr CsiMigration kVsphere{"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", false};
constexpr std::array kAll = {&kEbs, &kGcePd, &kAzureDisk, &kCinder, &kPortworx, &kAzureFile, &kVsphere};

std::vector<std::string> Split(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(delimiter);
    parts.emplace_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + delimiter.size());
  }
}

Expected<std::string> Unescaped(std::string_view text, std::string_view whole) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
      return Invalid(fmt::format("Invalid disk name ({}): parse \"{}\": invalid URL escape \"{}\"", whole,
                                 whole, text.substr(i, 3)));
    }
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// aws://<zone>/vol-1234, or the volume's own id.
Expected<std::string> EbsHandle(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  const auto handle = [&]() -> Expected<std::string> {
    std::string_view rest = std::string_view(id).substr(kScheme.size());
    rest = rest.substr(0, rest.find_first_of("?#"));
    const std::size_t slash = rest.find('/');
    BERTH_TRY(const std::string path, Unescaped(slash == rest.npos ? "" : rest.substr(slash), id));
    const std::string_view name = Trimmed(path, "/");
    if (!name.starts_with("vol-") || name.find('/') != name.npos) {
      return Invalid(fmt::format("Invalid format for AWS volume ({})", id));
    }
    return std::string(name);
  }();
  if (!handle) return Invalid("failed to translate Kubernetes ID to EBS Volume ID " + handle.error().message);
  return handle;
}

Expected<std::string> AzureHandle(const std::string& id, const CowPtr<std::string>& kind) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  if (kind && !std::ranges::equal(*kind, std::string_view("managed"), {}, lower)) {
    return Invalid(fmt::format("kind({}) is not supported in csi migration", *kind));
  }
  return id;
}

// The region of zones with names <locale>-<region>-<zone>.
Expected<std::string> GceRegion(const std::vector<std::string>& zones) {
  std::set<std::string> regions;
  for (const std::string& zone : zones) {
    const auto parts = Split(zone, "-");
    if (parts.size() != 3) {
      return Invalid(
          fmt::format("zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {}", zone));
    }
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() == 1) return *regions.begin();
  return Invalid(
      fmt::format("multiple or no regions gotten from zones, got: map[{}:{{}}]", fmt::join(regions, ":{} ")));
}

Expected<std::string> GceHandle(const PersistentVolume& volume) {
  const std::string* label = volume.metadata.labels.Find(kBetaZone);
  if (label == nullptr || label->empty()) label = volume.metadata.labels.Find(kZone);
  const auto zones = Split(label == nullptr ? "" : *label, "__");
  if (zones.size() > 1) {
    auto region = GceRegion(zones);
    if (!region) return std::unexpected(std::move(region).error().In("failed to get region from zones"));
    return fmt::format("projects/UNSPECIFIED/regions/{}/disks/{}", *region, volume.volume_handle);
  }
  return fmt::format("projects/UNSPECIFIED/zones/{}/disks/{}",
                     zones.front().empty() ? "UNSPECIFIED" : zones.front(), volume.volume_handle);
}

// Empty if the driver keeps the zone labels.
std::string_view TopologyKey(Pv source) {
  switch (source) {
    case Pv::kAwsElasticBlockStore:
      return "topology.ebs.csi.aws.com/zone";
    case Pv::kGcePersistentDisk:
      return "topology.gke.io/zone";
    case Pv::kCinder:
      return "topology.cinder.csi.openstack.org/zone";
    default:
      return {};
  }
}

bool HasKey(const CowPtr<NodeSelector>& affinity, std::string_view key) {
  return affinity && std::ranges::any_of(affinity->terms, [&](const NodeSelectorTerm& term) {
           return std::ranges::find(term.match_expressions, key, &NodeSelectorRequirement::key) !=
                  term.match_expressions.end();
         });
}

// False if no requirement with that key has values: nothing is renamed then.
bool Rename(NodeSelector& affinity, std::string_view from, std::string_view to) {
  std::vector<NodeSelectorRequirement*> found;
  bool has_value = false;
  for (NodeSelectorTerm& term : affinity.terms) {
    for (NodeSelectorRequirement& requirement : term.match_expressions) {
      if (requirement.key != from) continue;
      found.push_back(&requirement);
      has_value |= !requirement.values.empty();
    }
  }
  if (!has_value) return false;
  for (NodeSelectorRequirement* requirement : found) requirement->key = to;
  return true;
}

void AddZones(CowPtr<NodeSelector>& affinity, std::string_view key, std::string_view label) {
  std::set<std::string> zones;
  for (const std::string& zone : Split(label, "__")) {
    if (const auto name = Trimmed(zone, " \t\n\v\f\r"); !name.empty()) zones.emplace(name);
  }
  if (zones.empty()) return;
  if (!affinity) affinity.emplace();
  if (affinity->terms.empty()) affinity->terms.emplace_back();
  for (NodeSelectorTerm& term : affinity->terms)
    term.match_expressions.push_back({std::string(key), "In", {zones.begin(), zones.end()}});
}

}  // namespace

const CsiMigration* MigrationOf(Volume::Source source) {
  switch (source) {
    case Volume::Source::kAwsElasticBlockStore:
      return &kEbs;
    case Volume::Source::kGcePersistentDisk:
      return &kGcePd;
    case Volume::Source::kAzureDisk:
      return &kAzureDisk;
    case Volume::Source::kCinder:
      return &kCinder;
    case Volume::Source::kPortworx:
      return &kPortworx;
    case Volume::Source::kAzureFile:
      return &kAzureFile;
    case Volume::Source::kVsphere:
      return &kVsphere;
    default:
      return nullptr;
  }
}

const CsiMigration* MigrationOf(PersistentVolume::Source source) {
  switch (source) {
    case Pv::kAwsElasticBlockStore:
      return &kEbs;
    case Pv::kGcePersistentDisk:
      return &kGcePd;
    case Pv::kAzureDisk:
      return &kAzureDisk;
    case Pv::kCinder:
      return &kCinder;
    case Pv::kPortworx:
      return &kPortworx;
    default:
      return nullptr;
  }
}

const CsiMigration* MigrationOfPlugin(std::string_view plugin) {
  const auto found = std::ranges::find(kAll, plugin, &CsiMigration::plugin);
  return found == kAll.end() ? nullptr : *found;
}

Expected<std::string> CsiHandleOf(const Volume& volume) {
  switch (volume.source) {
    case Volume::Source::kAwsElasticBlockStore:
      return EbsHandle(volume.id);
    case Volume::Source::kAzureDisk:
      return AzureHandle(volume.id, volume.azure_kind);
    case Volume::Source::kGcePersistentDisk:
      return "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/" + volume.id;
    default:
      return volume.id;
  }
}

Expected<std::string> CsiHandleOf(const PersistentVolume& volume) {
  switch (volume.source) {
    case Pv::kAwsElasticBlockStore:
      return EbsHandle(volume.volume_handle);
    case Pv::kAzureDisk:
      return AzureHandle(volume.volume_handle, volume.azure_kind);
    case Pv::kGcePersistentDisk:
      return GceHandle(volume);
    default:
      return volume.volume_handle;
  }
}

CowPtr<NodeSelector> CsiAffinityOf(const PersistentVolume& volume) {
  CowPtr<NodeSelector> affinity = volume.node_affinity;
  const std::string_view key = TopologyKey(volume.source);
  if (key.empty()) return affinity;
  const Labels& labels = volume.metadata.labels;
  // Current labels take precedence over deprecated ones, and the affinity over the labels.
  const bool beta =
      !HasKey(affinity, kZone) &&
      (HasKey(affinity, kBetaZone) || (labels.Find(kZone) == nullptr && labels.Find(kBetaZone) != nullptr));
  const std::string_view zone = beta ? kBetaZone : kZone;
  if (!affinity || !Rename(*affinity, zone, key)) {
    if (const std::string* label = labels.Find(zone)) AddZones(affinity, key, *label);
  }
  if (beta && affinity) Rename(*affinity, kBetaRegion, kRegion);
  return affinity;
}

}  // namespace berth::api
