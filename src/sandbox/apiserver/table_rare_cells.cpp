#include "sandbox/apiserver/table_row.hpp"

namespace berth::sandbox {
namespace {

bool Flag(const Row& row, std::string_view path) {
  const json::value* value = FindPath(row.object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string OrNone(std::string text) { return text.empty() ? "<none>" : text; }

json::array DaemonSetCells(const Row& row) {
  return {row.Text("metadata.name"),
          row.Number("status.desiredNumberScheduled"),
          row.Number("status.currentNumberScheduled"),
          row.Number("status.numberReady"),
          row.Number("status.updatedNumberScheduled"),
          row.Number("status.numberAvailable"),
          row.LabelsAt("spec.template.spec.nodeSelector"),
          row.Age(),
          row.Joined("spec.template.spec.containers", "name"),
          row.Joined("spec.template.spec.containers", "image"),
          row.LabelsAt("spec.selector.matchLabels")};
}

json::array CronJobCells(const Row& row) {
  constexpr std::string_view kPods = "spec.jobTemplate.spec.template.spec.containers";
  const auto last = row.Text("status.lastScheduleTime");
  return {row.Text("metadata.name"),
          row.Text("spec.schedule"),
          row.Or("spec.timeZone", "<none>"),
          Flag(row, "spec.suspend"),
          row.Size("status.active"),
          last.empty() ? "<none>" : row.Since(last),
          row.Age(),
          row.Joined(kPods, "name"),
          row.Joined(kPods, "image"),
          row.LabelsAt("spec.jobTemplate.spec.selector.matchLabels")};
}

json::array DriverCells(const Row& row) {
  std::string modes;
  if (const json::array* list = FindArray(row.object, "spec.volumeLifecycleModes")) {
    for (const auto& mode : *list) {
      if (mode.is_string()) modes.append(modes.empty() ? "" : ",").append(mode.get_string());
    }
  }
  const std::string tokens = row.Joined("spec.tokenRequests", "audience");
  return {row.Text("metadata.name"),
          Flag(row, "spec.attachRequired"),
          Flag(row, "spec.podInfoOnMount"),
          Flag(row, "spec.storageCapacity"),
          tokens.empty() ? "<unset>" : tokens,
          Flag(row, "spec.requiresRepublish"),
          OrNone(modes),
          row.Age()};
}

json::array BindingCells(const Row& row) {
  std::string users, groups, accounts;
  row.Each("subjects", [&](const json::object& subject) {
    const auto kind = FindString(subject, "kind");
    std::string& list = kind == "User" ? users : kind == "Group" ? groups : accounts;
    if (!list.empty()) list += ", ";
    if (kind == "ServiceAccount") list.append(FindString(subject, "namespace")).append("/");
    list += FindString(subject, "name");
  });
  return {row.Text("metadata.name"),
          fmt::format("{}/{}", row.Text("roleRef.kind"), row.Text("roleRef.name")),
          row.Age(),
          users,
          groups,
          accounts};
}

// "cpu: 0/1, memory: 1Gi/2Gi": used and allowed; requests and limits in separate cells.
json::array QuotaCells(const Row& row) {
  std::string requests, limits;
  const json::object* hard = FindObject(row.object, "status.hard");
  if (hard == nullptr) hard = FindObject(row.object, "spec.hard");
  const json::object* used = FindObject(row.object, "status.used");
  for (const auto& entry : hard != nullptr ? *hard : json::object()) {
    std::string& list = std::string_view(entry.key()).starts_with("limits") ? limits : requests;
    const json::value* now = used != nullptr ? Find(*used, entry.key()) : nullptr;
    const auto text = [](const json::value* value) {
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string("0");
    };
    list += fmt::format("{}{}: {}/{}", list.empty() ? "" : ", ", std::string_view(entry.key()), text(now),
                        text(&entry.value()));
  }
  return {row.Text("metadata.name"), requests, limits, row.Age()};
}

std::string EndpointsText(const Row& row) {
  std::string text;
  row.Each("subsets", [&](const json::object& subset) {
    const json::array* addresses = FindArray(subset, "addresses");
    const json::array* ports = FindArray(subset, "ports");
    for (const auto& address : addresses != nullptr ? *addresses : json::array()) {
      if (!address.is_object()) continue;
      const auto ip = FindString(address.get_object(), "ip");
      for (const auto& port : ports != nullptr ? *ports : json::array()) {
        const json::value* number = port.is_object() ? Find(port.get_object(), "port") : nullptr;
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", ip,
                            number != nullptr ? json::serialize(*number) : "");
      }
    }
  });
  return OrNone(text);
}

json::array SliceCells(const Row& row) {
  std::string ports, addresses;
  row.Each("ports", [&](const json::object& port) {
    const json::value* number = Find(port, "port");
    ports += (ports.empty() ? "" : ",") + (number != nullptr ? json::serialize(*number) : "*");
  });
  row.Each("endpoints", [&](const json::object& endpoint) {
    const json::array* list = FindArray(endpoint, "addresses");
    if (list != nullptr && !list->empty() && list->front().is_string())
      addresses.append(addresses.empty() ? "" : ",").append(list->front().get_string());
  });
  return {row.Text("metadata.name"), row.Text("addressType"), ports.empty() ? "<unset>" : ports,
          addresses.empty() ? "<unset>" : addresses, row.Age()};
}

}  // namespace

json::array RareCells(std::string_view plural, const Row& row) {
  const auto name = row.Text("metadata.name");
  if (plural == "daemonsets") return DaemonSetCells(row);
  if (plural == "cronjobs") return CronJobCells(row);
  if (plural == "csidrivers") return DriverCells(row);
  if (plural == "rolebindings" || plural == "clusterrolebindings") return BindingCells(row);
  if (plural == "resourcequotas") return QuotaCells(row);
  if (plural == "endpoints") return {name, EndpointsText(row), row.Age()};
  if (plural == "endpointslices") return SliceCells(row);
  if (plural == "podtemplates") {
    return {name, row.Joined("template.spec.containers", "name"),
            row.Joined("template.spec.containers", "image"), row.LabelsAt("template.metadata.labels")};
  }
  if (plural == "volumeattachments") {
    return {name,
            row.Text("spec.attacher"),
            row.Text("spec.source.persistentVolumeName"),
            row.Text("spec.nodeName"),
            Flag(row, "status.attached"),
            row.Age()};
  }
  return {name, row.Text("metadata.creationTimestamp")};
}

}  // namespace berth::sandbox
