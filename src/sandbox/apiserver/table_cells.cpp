#include "sandbox/apiserver/table_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sandbox/apiserver/table_row.hpp"
#include "sandbox/store/condition.hpp"

namespace berth::sandbox {
namespace {

bool IsTrue(const json::object& object, std::string_view key) {
  const json::value* value = Find(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// --- pods ---

// The state of the containers, in kubectl's words.
std::string PodStatusText(const Row& row) {
  std::string text = row.Or("status.phase", "Unknown");
  if (const auto reason = row.Text("status.reason"); !reason.empty()) text = reason;
  row.Each("status.conditions", [&](const json::object& condition) {
    if (FindString(condition, "type") == "PodScheduled" &&
        FindString(condition, "reason") == "SchedulingGated") {
      text = "SchedulingGated";
    }
  });
  row.Each("status.containerStatuses", [&](const json::object& status) {
    const auto waiting = FindString(status, "state.waiting.reason");
    const auto terminated = FindString(status, "state.terminated.reason");
    if (!waiting.empty())
      text = waiting;
    else if (!terminated.empty())
      text = terminated;
  });
  if (row.Text("metadata.deletionTimestamp").empty()) return text;
  if (row.Text("status.reason") == "NodeLost") return "Unknown";
  const auto phase = row.Text("status.phase");
  return phase == "Succeeded" || phase == "Failed" ? text : "Terminating";
}

json::array PodCells(const Row& row) {
  std::size_t containers = row.Size("spec.containers");
  row.Each("spec.initContainers",
           [&](const json::object& c) { containers += FindString(c, "restartPolicy") == "Always"; });
  std::size_t ready = 0;
  std::int64_t restarts = 0;
  row.Each("status.containerStatuses", [&](const json::object& status) {
    ready += IsTrue(status, "ready");
    const json::value* count = Find(status, "restartCount");
    restarts += count != nullptr && count->is_int64() ? count->get_int64() : 0;
  });
  return {row.Text("metadata.name"),
          fmt::format("{}/{}", ready, containers),
          PodStatusText(row),
          fmt::to_string(restarts),
          row.Age(),
          row.Or("status.podIP", "<none>"),
          row.Or("spec.nodeName", "<none>"),
          row.Or("status.nominatedNodeName", "<none>"),
          "<none>"};
}

// --- nodes ---

json::array NodeCells(const Row& row) {
  std::string status = "Unknown";
  row.Each("status.conditions", [&](const json::object& condition) {
    if (FindString(condition, "type") == "Ready")
      status = FindString(condition, "status") == "True" ? "Ready" : "NotReady";
  });
  if (const json::object* spec = FindObject(row.object, "spec");
      spec != nullptr && IsTrue(*spec, "unschedulable")) {
    status += ",SchedulingDisabled";
  }
  std::vector<std::string> roles;
  const json::object* labels = FindObject(row.object, "metadata.labels");
  for (const auto& label : labels != nullptr ? *labels : json::object()) {
    constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
    const std::string_view key = label.key();
    if (key.starts_with(kPrefix)) roles.emplace_back(key.substr(kPrefix.size()));
    if (key == "kubernetes.io/role" && label.value().is_string())
      roles.emplace_back(label.value().get_string());
  }
  std::ranges::sort(roles);
  std::string internal = "<none>", external = "<none>";
  row.Each("status.addresses", [&](const json::object& address) {
    const auto type = FindString(address, "type");
    if (type == "InternalIP") internal = FindString(address, "address");
    if (type == "ExternalIP") external = FindString(address, "address");
  });
  std::string kernel = row.Or("status.nodeInfo.kernelVersion", "<unknown>");
  if (const auto arch = row.Text("status.nodeInfo.architecture"); !arch.empty())
    kernel += fmt::format(" ({})", arch);
  return {row.Text("metadata.name"),
          status,
          roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ",")),
          row.Age(),
          row.Text("status.nodeInfo.kubeletVersion"),
          internal,
          external,
          row.Or("status.nodeInfo.osImage", "<unknown>"),
          kernel,
          row.Or("status.nodeInfo.containerRuntimeVersion", "<unknown>")};
}

// --- the others ---

json::array EventCells(const Row& row) {
  std::string_view last = row.Text("series.lastObservedTime");
  for (const std::string_view path : {"lastTimestamp", "firstTimestamp", "eventTime"}) {
    if (last.empty()) last = row.Text(path);
  }
  std::string_view first = row.Text("firstTimestamp");
  if (first.empty()) first = row.Text("eventTime");
  std::string kind(row.Text("involvedObject.kind"));
  for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto source = row.Text("source.component");
  const auto count = std::max(row.Number("series.count"), row.Number("count"));
  return {row.Since(last),
          row.Text("type"),
          row.Text("reason"),
          fmt::format("{}/{}", kind, row.Text("involvedObject.name")),
          row.Text("involvedObject.fieldPath"),
          source.empty() ? row.Text("reportingComponent") : source,
          row.Text("message"),
          row.Since(first),
          std::max<std::int64_t>(count, 1),
          row.Text("metadata.name")};
}

json::array WorkloadCells(std::string_view plural, const Row& row) {
  const std::string ready =
      fmt::format("{}/{}", row.Number("status.readyReplicas"), row.Number("spec.replicas"));
  const std::string names = row.Joined("spec.template.spec.containers", "name");
  const std::string images = row.Joined("spec.template.spec.containers", "image");
  const auto name = row.Text("metadata.name");
  if (plural == "deployments") {
    return {name,
            ready,
            row.Number("status.updatedReplicas"),
            row.Number("status.availableReplicas"),
            row.Age(),
            names,
            images,
            row.LabelsAt("spec.selector.matchLabels")};
  }
  if (plural == "statefulsets") return {name, ready, row.Age(), names, images};
  const bool rc = plural == "replicationcontrollers";
  return {name,
          row.Number("spec.replicas"),
          row.Number("status.replicas"),
          row.Number("status.readyReplicas"),
          row.Age(),
          names,
          images,
          row.LabelsAt(rc ? "spec.selector" : "spec.selector.matchLabels")};
}

std::string JobStatus(const Row& row) {
  const json::object* status = FindObject(row.object, "status");
  const auto has = [&](std::string_view type) { return status != nullptr && IsConditionTrue(*status, type); };
  for (const std::string_view end : {"Complete", "Failed"}) {
    if (has(end)) return std::string(end);
  }
  if (!row.Text("metadata.deletionTimestamp").empty()) return "Terminating";
  for (const std::string_view state : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (has(state)) return std::string(state);
  }
  return "Running";
}

// Without completions, one success is enough.
std::string JobCompletions(const Row& row) {
  const std::int64_t succeeded = row.Number("status.succeeded");
  const std::int64_t parallelism = row.Number("spec.parallelism");
  if (FindPath(row.object, "spec.completions") != nullptr)
    return fmt::format("{}/{}", succeeded, row.Number("spec.completions"));
  return parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism) : fmt::format("{}/1", succeeded);
}

json::array JobCells(const Row& row) {
  const auto started = row.Text("status.startTime"), ended = row.Text("status.completionTime");
  const std::string duration =
      started.empty()
          ? ""
          : Row::AgeAt(ended.empty() ? row.now : Row::NearestTimeOf(ended), Row::NearestTimeOf(started));
  return {row.Text("metadata.name"),
          JobStatus(row),
          JobCompletions(row),
          duration,
          row.Age(),
          row.Joined("spec.template.spec.containers", "name"),
          row.Joined("spec.template.spec.containers", "image"),
          row.LabelsAt("spec.selector.matchLabels")};
}

json::array ServiceCells(const Row& row) {
  std::vector<std::string> ports;
  row.Each("spec.ports", [&](const json::object& port) {
    const json::value* number = Find(port, "port");
    const auto protocol = FindString(port, "protocol");
    ports.push_back(fmt::format("{}/{}", number != nullptr ? json::serialize(*number) : "0",
                                protocol.empty() ? "TCP" : protocol));
  });
  return {row.Text("metadata.name"),
          row.Text("spec.type"),
          row.Or("spec.clusterIP", "None"),
          "<none>",
          ports.empty() ? "<none>" : fmt::format("{}", fmt::join(ports, ",")),
          row.Age(),
          row.LabelsAt("spec.selector")};
}

std::string AccessModes(const Row& row, std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"ReadWriteOnce", "RWO"},
                                                                             {"ReadOnlyMany", "ROX"},
                                                                             {"ReadWriteMany", "RWX"},
                                                                             {"ReadWriteOncePod", "RWOP"}};
  std::vector<std::string_view> modes;
  const json::array* list = FindArray(row.object, path);
  for (const auto& mode : list != nullptr ? *list : json::array()) {
    for (const auto& [name, code] : kShort) {
      if (mode.is_string() && mode.get_string() == name) modes.push_back(code);
    }
  }
  return fmt::format("{}", fmt::join(modes, ","));
}

json::array StorageCells(std::string_view plural, const Row& row) {
  const auto name = row.Text("metadata.name");
  if (plural == "persistentvolumes") {
    const auto claim = row.Text("spec.claimRef.name");
    return {name,
            row.Text("spec.capacity.storage"),
            AccessModes(row, "spec.accessModes"),
            row.Text("spec.persistentVolumeReclaimPolicy"),
            row.Text("status.phase"),
            claim.empty() ? "" : fmt::format("{}/{}", row.Text("spec.claimRef.namespace"), claim),
            row.Text("spec.storageClassName"),
            row.Or("spec.volumeAttributesClassName", "<unset>"),
            row.Text("status.reason"),
            row.Age(),
            row.Or("spec.volumeMode", "<unset>")};
  }
  if (plural == "persistentvolumeclaims") {
    return {name,
            row.Text("status.phase"),
            row.Text("spec.volumeName"),
            row.Text("status.capacity.storage"),
            AccessModes(row, "status.accessModes"),
            row.Text("spec.storageClassName"),
            row.Or("spec.volumeAttributesClassName", "<unset>"),
            row.Age(),
            row.Or("spec.volumeMode", "<unset>")};
  }
  return {name,
          row.Text("provisioner"),
          row.Text("reclaimPolicy"),
          row.Text("volumeBindingMode"),
          IsTrue(row.object, "allowVolumeExpansion"),
          row.Age()};
}

std::string IntOrString(const json::object& object, std::string_view path) {
  const json::value* value = FindPath(object, path);
  if (value == nullptr) return "N/A";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

// --- devices ---

std::string ClaimState(const Row& row) {
  const bool deleted = !row.Text("metadata.deletionTimestamp").empty();
  const bool allocated = FindObject(row.object, "status.allocation") != nullptr;
  std::vector<std::string_view> states;
  if (deleted) states.push_back("deleted");
  if (allocated) states.push_back("allocated");
  if (allocated && row.Size("status.reservedFor") > 0) states.push_back("reserved");
  if (!allocated && !deleted) states.push_back("pending");
  return fmt::format("{}", fmt::join(states, ","));
}

json::array DeviceCells(std::string_view plural, const Row& row) {
  const auto name = row.Text("metadata.name");
  if (plural == "resourceclaims") return {name, ClaimState(row), row.Age()};
  if (plural == "resourceslices") {
    return {name, row.Text("spec.nodeName"), row.Text("spec.driver"), row.Text("spec.pool.name"), row.Age()};
  }
  if (plural == "devicetaintrules") {
    const auto added = row.Text("spec.taint.timeAdded");
    return {name,
            row.Text("spec.taint.key"),
            row.Text("spec.taint.value"),
            row.Text("spec.taint.effect"),
            added.empty() ? std::string() : row.Since(added),
            row.Age()};
  }
  return {name, row.Age()};  // classes and templates
}

json::array OtherCells(std::string_view plural, const Row& row) {
  const auto name = row.Text("metadata.name");
  if (plural == "namespaces") return {name, row.Text("status.phase"), row.Age()};
  if (plural == "leases") return {name, row.Text("spec.holderIdentity"), row.Age()};
  if (plural == "configmaps") return {name, row.Size("data") + row.Size("binaryData"), row.Age()};
  if (plural == "secrets") return {name, row.Or("type", "Opaque"), row.Size("data"), row.Age()};
  if (plural == "csinodes") return {name, row.Size("spec.drivers"), row.Age()};
  if (plural == "serviceaccounts") return {name, row.Age()};
  if (plural == "poddisruptionbudgets") {
    return {name, IntOrString(row.object, "spec.minAvailable"),
            IntOrString(row.object, "spec.maxUnavailable"), row.Number("status.disruptionsAllowed"),
            row.Age()};
  }
  if (plural == "priorityclasses") {
    return {name, row.Number("value"), IsTrue(row.object, "globalDefault"), row.Age(),
            row.Text("preemptionPolicy")};
  }
  return RareCells(plural, row);
}

}  // namespace

json::array TableCells(const ResourceType& type, const json::object& document, WallTime now) {
  const Row row{document, now};
  if (&type == &Known().pods) return PodCells(row);
  if (&type == &Known().nodes) return NodeCells(row);
  if (&type == &Known().events) return EventCells(row);
  const auto plural = type.plural;
  if (plural == "deployments" || plural == "replicasets" || plural == "statefulsets" ||
      plural == "replicationcontrollers") {
    return WorkloadCells(plural, row);
  }
  if (plural == "jobs") return JobCells(row);
  if (plural == "services") return ServiceCells(row);
  if (plural.starts_with("persistentvolume") || plural == "storageclasses") return StorageCells(plural, row);
  if (type.group == "resource.k8s.io") return DeviceCells(plural, row);
  return OtherCells(plural, row);
}

}  // namespace berth::sandbox
