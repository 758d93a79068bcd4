#include "tools/migrate/workloads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/text_layout.hpp"
#include "kubernetes/api/csi_migration.hpp"

namespace berth::migrate {
namespace {

// The field selector of kube-scheduler's watch.
constexpr std::string_view kAlive = "status.phase!=Succeeded,status.phase!=Failed";
// The current and the former label of Coscheduling's pod groups (kubernetes-sigs/scheduler-plugins).
constexpr const char* kGangLabels[] = {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"};
constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";

Finding NotListed(std::string_view what, const Error& error) {
  Finding finding{Level::kWarning, Topic::kWorkloads, fmt::format("not checked: {}: {}", what, error.message),
                  "run the check as a user that may list them"};
  finding.unseen = what == "pods" || what == "nodes";
  return finding;
}

// Pods with one property, and the number of them that are pending.
struct PodCounts {
  Tally all;
  std::size_t waiting = 0;

  void Add(const api::Pod& pod) {
    all.Add(pod.metadata.Key());
    if (pod.spec.node_name.empty()) ++waiting;
  }
  std::string Text() const {
    if (waiting == 0) return Counted(all.count(), "pod");
    return fmt::format("{} ({} pending)", Counted(all.count(), "pod"), WithCommas(waiting));
  }
};

class Survey {
 public:
  Survey(Lists& lists, const ServerFacts& facts, const WorkloadCheckOptions& options)
      : lists_(lists), facts_(facts), question_(options) {}

  Findings Make() {
    CountNodes();
    ReadDeviceClasses();
    ReadPods();
    ReadVolumes();
    ReadGroups();
    ReadQuotas();
    ReportSize();
    return std::move(findings_);
  }

 private:
  void AddFinding(Finding finding) { findings_.push_back(std::move(finding)); }

  void CountNodes() {
    const auto listed = lists_.ForEachName("/api/v1/nodes", [&](const std::string&) { ++size_.nodes; });
    if (!listed) AddFinding(NotListed("nodes", listed.error()));
    complete_ = complete_ && listed;
  }

  void ReadDeviceClasses() {
    if (facts_.device_classes.empty()) return;
    const auto listed = lists_.ForEach<api::DeviceClass>(
        facts_.device_classes, "", [&](const api::DeviceClass& device_class) {
          devices_.emplace(std::string(kImplicitPrefix) + device_class.metadata.name);
          if (device_class.extended_resource_name) devices_.insert(*device_class.extended_resource_name);
        });
    if (!listed) AddFinding(NotListed("device classes", listed.error()));
  }

  bool RequestsDevice(const api::Pod& pod) const {
    if (devices_.empty()) return false;
    const auto any = [&](const auto& containers) {
      return std::ranges::any_of(containers, [&](const api::Container& container) {
        return std::ranges::any_of(container.resources.requests,
                                   [&](const auto& request) { return devices_.contains(request.first); });
      });
    };
    return any(pod.spec.containers) || any(pod.spec.init_containers);
  }

  void ReadPod(const api::Pod& pod) {
    ++(pod.spec.node_name.empty() ? size_.waiting_pods : size_.placed_pods);
    if (!question_.schedulers.contains(pod.spec.scheduler_name)) {
      others_[pod.spec.scheduler_name].Add(pod);
      return;
    }
    served_pods_.Add(pod);
    if (!pod.spec.resource_claims.empty()) claims_.Add(pod);
    if (RequestsDevice(pod)) device_requests_.Add(pod);
    if (pod.spec.pod_group) grouped_.Add(pod);
    if (std::ranges::any_of(kGangLabels,
                            [&](const char* label) { return pod.metadata.labels.Find(label) != nullptr; }))
      gangs_.Add(pod);
    for (const api::Volume& volume : pod.spec.volumes) {
      if (const auto* migration = api::MigrationOf(volume.source))
        in_tree_[migration].Add(pod.metadata.Key());
    }
  }

  void ReadPods() {
    const auto listed =
        lists_.ForEach<api::Pod>("/api/v1/pods", kAlive, [&](const api::Pod& pod) { ReadPod(pod); });
    complete_ = complete_ && listed;
    if (!listed) return AddFinding(NotListed("pods", listed.error()));
    const std::string served = fmt::format("{}", fmt::join(question_.schedulers, ", "));
    if (served_pods_.all.empty()) {
      AddFinding({Level::kNote, Topic::kWorkloads, fmt::format("no pod has the schedulerName {}", served)});
    } else {
      AddFinding(
          {Level::kOk, Topic::kWorkloads,
           fmt::format("{} would be scheduled by Berth, by schedulerName {}", served_pods_.Text(), served)});
    }
    ReportDevices();
    ReportPodGroups();
    ReportOtherSchedulers();
  }

  void ReportDevices() {
    if (!claims_.all.empty()) {
      AddFinding({Level::kOk, Topic::kWorkloads,
                  fmt::format("{} with resource claims (DRA); Berth allocates devices as kube-scheduler does",
                              claims_.Text())});
    }
    if (!device_requests_.all.empty()) {
      AddFinding({Level::kOk, Topic::kWorkloads,
                  fmt::format("{} that request a resource which a DeviceClass provides; Berth creates their "
                              "claims as kube-scheduler does",
                              device_requests_.Text())});
    }
  }

  void ReportPodGroups() {
    if (!grouped_.all.empty()) {
      const bool on = question_.gates.Enabled("GenericWorkload");
      AddFinding(About(
          grouped_.all, on ? Level::kOk : Level::kNote, Topic::kWorkloads,
          on ? fmt::format("{} of pod groups; Berth schedules groups as kube-scheduler does", grouped_.Text())
             : fmt::format("{} of pod groups; the feature gate GenericWorkload is off, and without it "
                           "both schedulers place them one by one",
                           grouped_.Text()),
          ""));
    }
    if (!gangs_.all.empty())
      AddFinding(About(
          gangs_.all, Level::kWarning, Topic::kWorkloads,
          fmt::format("{} with the label of Coscheduling's pod groups: they start together only if their "
                      "profile has the plugin Coscheduling or Gangs",
                      gangs_.Text()),
          "enable it (docs/guide/gangs.md)"));
  }

  void ReportOtherSchedulers() {
    for (const auto& [name, pods] : others_) {
      AddFinding(
          About(pods.all, Level::kNote, Topic::kWorkloads,
                fmt::format("{} with the schedulerName \"{}\", which is not a profile: Berth ignores them",
                            pods.Text(), name)));
    }
  }

  void ReadVolumes() {
    std::map<std::string, std::size_t, std::less<>> drivers;
    std::size_t others = 0;
    const auto listed = lists_.ForEach<api::PersistentVolume>(
        "/api/v1/persistentvolumes", "", [&](const api::PersistentVolume& volume) {
          if (const auto* migration = api::MigrationOf(volume.source)) {
            in_tree_[migration].Add(volume.metadata.name);
          } else if (volume.source == api::PersistentVolume::Source::kCsi) {
            ++drivers[volume.driver];
          } else {
            ++others;
          }
        });
    if (!listed) AddFinding(NotListed("persistent volumes", listed.error()));
    for (const auto& [migration, tally] : in_tree_)
      AddFinding(
          About(tally, Level::kNote, Topic::kWorkloads,
                fmt::format("{} of {} in pods or persistent volumes, counted with the CSI driver {} as "
                            "kube-scheduler does; its CSINode objects must be there",
                            Counted(tally.count(), "volume"), migration->plugin, migration->driver)));
    if (drivers.empty() && others == 0) return;
    std::vector<std::string> texts;
    for (const auto& [driver, count] : drivers)
      texts.push_back(fmt::format("{} {}", WithCommas(count), driver));
    if (others > 0) texts.push_back(fmt::format("{} not by CSI", WithCommas(others)));
    AddFinding({Level::kOk, Topic::kWorkloads,
                fmt::format("persistent volumes: {}; bound, provisioned and limited as kube-scheduler does",
                            fmt::join(texts, ", "))});
  }

  void ReadGroups() {
    if (facts_.pod_groups.empty() || !grouped_.all.empty()) return;
    Tally groups;
    const auto listed =
        lists_.ForEachName(facts_.pod_groups, [&](const std::string& name) { groups.Add(name); });
    if (!listed) return AddFinding(NotListed("pod groups", listed.error()));
    if (!groups.empty())
      AddFinding(
          About(groups, Level::kNote, Topic::kWorkloads,
                fmt::format("{} without pods for Berth at the moment", Counted(groups.count(), "pod group")),
                "with the feature gate GenericWorkload, Berth schedules their pods together"));
  }

  void ReadQuotas() {
    ReadQuotasOf("scheduler-plugins", facts_.elastic_quotas, "the plugin CapacityScheduling");
    ReadQuotasOf("Koordinator", facts_.koordinator_quotas,
                 "the plugin CapacityScheduling with hierarchy: Koordinator");
  }

  void ReadQuotasOf(std::string_view project, const std::string& path, std::string_view needed) {
    if (path.empty()) return;
    Tally quotas;
    const auto listed = lists_.ForEachName(path, [&](const std::string& name) { quotas.Add(name); });
    if (!listed) return AddFinding(NotListed(fmt::format("elastic quotas of {}", project), listed.error()));
    if (quotas.empty()) return;
    AddFinding(About(quotas, Level::kWarning, Topic::kWorkloads,
                     fmt::format("{} of {}: pods are limited only if their profile has {}",
                                 Counted(quotas.count(), "ElasticQuota"), project, needed),
                     "enable it (docs/guide/quotas.md)"));
  }

  void ReportSize() {
    if (!complete_) return;
    AddFinding(
        {Level::kOk, Topic::kSize,
         fmt::format(
             "{}, {} on them, {} pending: Berth needs about {} MiB, and up to 128 MiB for attempt "
             "records and the equivalence cache (--berth-record-buffer-size, --berth-equivalence-cache-size)",
             Counted(size_.nodes, "node"), Counted(size_.placed_pods, "pod"), WithCommas(size_.waiting_pods),
             (MemoryFor(size_) + (1 << 20) - 1) >> 20)});
  }

  Lists& lists_;
  const ServerFacts& facts_;
  const WorkloadCheckOptions& question_;
  Findings findings_;
  bool complete_ = true;  // all counted objects could be listed
  ClusterSize size_;
  std::set<std::string, std::less<>> devices_;  // extended resources that device classes provide
  PodCounts served_pods_, claims_, device_requests_, grouped_, gangs_;
  std::map<std::string, PodCounts, std::less<>> others_;  // by scheduler
  std::map<const api::CsiMigration*, Tally> in_tree_;
};

}  // namespace

Findings CheckWorkloads(Lists& lists, const ServerFacts& facts, const WorkloadCheckOptions& options) {
  return Survey(lists, facts, options).Make();
}

std::size_t MemoryFor(const ClusterSize& size) {
  constexpr std::size_t kBase = std::size_t{22} << 20;
  constexpr std::size_t kNode = 2200, kPlaced = 750, kWaiting = 1250;
  return kBase + size.nodes * kNode + size.placed_pods * kPlaced + size.waiting_pods * kWaiting;
}

}  // namespace berth::migrate
