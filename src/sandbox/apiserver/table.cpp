#include "sandbox/apiserver/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sandbox/apiserver/table_cells.hpp"

namespace berth::sandbox {
namespace {

// Name:type; an asterisk marks the columns of -o wide.
struct Columns {
  std::string_view plural;
  std::string_view text;
};
constexpr Columns kColumns[] = {
    {"pods", "Name,Ready,Status,Restarts,Age,*IP,*Node,*Nominated Node,*Readiness Gates"},
    {"nodes",
     "Name,Status,Roles,Age,Version,*Internal-IP,*External-IP,*OS-Image,*Kernel-Version,*Container-Runtime"},
    {"events", "Last Seen,Type,Reason,Object,*Subobject,*Source,Message,*First Seen,*Count,*Name"},
    {"namespaces", "Name,Status,Age"},
    {"deployments", "Name,Ready,Up-to-date,Available,Age,*Containers,*Images,*Selector"},
    {"replicasets", "Name,Desired:integer,Current:integer,Ready:integer,Age,*Containers,*Images,*Selector"},
    {"replicationcontrollers",
     "Name,Desired:integer,Current:integer,Ready:integer,Age,*Containers,*Images,*Selector"},
    {"statefulsets", "Name,Ready,Age,*Containers,*Images"},
    {"jobs", "Name,Status,Completions,Duration,Age,*Containers,*Images,*Selector"},
    {"services", "Name,Type,Cluster-IP,External-IP,Port(s),Age,*Selector"},
    {"persistentvolumes",
     "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,"
     "Reason,Age,*VolumeMode"},
    {"persistentvolumeclaims",
     "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,*VolumeMode"},
    {"storageclasses", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"},
    {"poddisruptionbudgets", "Name,Min Available,Max Unavailable,Allowed Disruptions:integer,Age"},
    {"priorityclasses", "Name,Value:integer,Global-Default:boolean,Age,PreemptionPolicy"},
    {"leases", "Name,Holder,Age"},
    {"configmaps", "Name,Data,Age"},
    {"secrets", "Name,Type,Data,Age"},
    {"csinodes", "Name,Drivers:integer,Age"},
    {"resourceclaims", "Name,State,Age"},
    {"resourceslices", "Name,Node,Driver,Pool,Age"},
    {"deviceclasses", "Name,Age"},
    {"resourceclaimtemplates", "Name,Age"},
    {"devicetaintrules", "Name,Key,Value,Effect,TimeAdded,Age"},
    {"serviceaccounts", "Name,Age"},
    {"endpoints", "Name,Endpoints,Age"},
    {"endpointslices", "Name,AddressType,Ports,Endpoints,Age"},
    {"daemonsets",
     "Name,Desired:integer,Current:integer,Ready:integer,Up-to-date:integer,Available:integer,Node "
     "Selector,Age,"
     "*Containers,*Images,*Selector"},
    {"cronjobs",
     "Name,Schedule,Timezone,Suspend:boolean,Active:integer,Last Schedule,Age,*Containers,*Images,*Selector"},
    {"csidrivers",
     "Name,AttachRequired:boolean,PodInfoOnMount:boolean,StorageCapacity:boolean,TokenRequests,"
     "RequiresRepublish:boolean,Modes,Age"},
    {"volumeattachments", "Name,Attacher,PV,Node,Attached:boolean,Age"},
    {"resourcequotas", "Name,Request,Limit,Age"},
    {"rolebindings", "Name,Role,Age,*Users,*Groups,*ServiceAccounts"},
    {"clusterrolebindings", "Name,Role,Age,*Users,*Groups,*ServiceAccounts"},
    {"podtemplates", "Name,Containers,Images,Pod Labels"},
};
constexpr std::string_view kOtherColumns = "Name,Created At:date";

json::array MakeColumns(std::string_view text) {
  json::array columns;
  ForEachOf(text, [&](std::string_view column) {
    const bool wide = column.starts_with('*');
    if (wide) column.remove_prefix(1);
    const auto colon = column.find(':');
    const auto name = column.substr(0, colon);
    columns.push_back(
        json::object{{"name", name},
                     {"type", colon == std::string_view::npos ? "string" : column.substr(colon + 1)},
                     {"format", name == "Name" || name == "Attacher" ? "name" : ""},
                     {"description", ""},
                     {"priority", wide ? 1 : 0}});
  });
  return columns;
}

}  // namespace

const json::array& TableColumns(const ResourceType& type) {
  static const auto all = [] {
    std::vector<json::array> tables;
    for (const auto& resource : Resources()) {
      const auto found = std::ranges::find(kColumns, resource.plural, &Columns::plural);
      tables.push_back(MakeColumns(found == std::end(kColumns) ? kOtherColumns : found->text));
    }
    return tables;
  }();
  return all[type.index];
}

json::object TableRow(const View& view, const Object& object, WallTime now) {
  const Document document = object.Parse();
  json::object row{{"cells", TableCells(*view.type, document.root(), now)}};
  if (view.include == View::Include::kMetadata) {
    row["object"] = json::object{{"kind", "PartialObjectMetadata"},
                                 {"apiVersion", "meta.k8s.io/v1"},
                                 {"metadata", document.root().at("metadata")}};
  } else if (view.include == View::Include::kObject) {
    row["object"] = document.root();
  } else {
    row["object"] = nullptr;
  }
  return row;
}

std::string TableText(const ResourceType& type, std::string_view list_metadata, std::string_view rows,
                      bool with_columns) {
  const std::string columns = with_columns ? json::serialize(TableColumns(type)) : "null";
  return fmt::format(
      R"({{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":{},"rows":[{}]}})",
      list_metadata, columns, rows);
}

// duration.HumanDuration of k8s.io/apimachinery.
std::string HumanAge(Duration age) {
  using namespace std::chrono;
  const auto s = duration_cast<seconds>(age).count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";  // the clock of another machine may be ahead
  const auto m = s / 60, h = s / 3600, d = s / 86400, y = d / 365;
  const auto two = [](auto big, std::string_view big_unit, auto small, std::string_view small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (s < 120) return fmt::format("{}s", s);
  if (m < 10) return two(m, "m", s % 60, "s");
  if (h < 3) return fmt::format("{}m", m);
  if (h < 8) return two(h, "h", m % 60, "m");
  if (h < 48) return fmt::format("{}h", h);
  if (d < 8) return two(d, "d", h % 24, "h");
  if (y < 2) return fmt::format("{}d", d);
  if (y < 8) return two(y, "y", d % 365, "d");
  return fmt::format("{}y", y);
}

}  // namespace berth::sandbox
