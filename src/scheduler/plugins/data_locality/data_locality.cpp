#include "scheduler/plugins/data_locality/data_locality.hpp"

#include <algorithm>

#include "scheduler/cluster/volumes_in_use.hpp"
#include "scheduler/plugins/data_locality/entry_list.hpp"

namespace berth::plugins {

using cluster::Row;
using framework::Attempt;
using framework::Status;

framework::PluginOrError DataLocality::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const DataLocalityArgs args, ParseDataLocalityArgs(raw));
  return std::make_unique<DataLocality>(args, handle);
}

DataLocality::DataLocality(const DataLocalityArgs& args, framework::Handle& handle)
    : args_(args),
      objects_(handle.objects),
      zone_key_(args.zone_label.empty() ? cluster::LabelKeyId{} : handle.symbols.InternKey(args.zone_label)),
      places_(handle.NewBuffer<Places>()),
      storage_(std::make_unique<StorageIndex>(handle)),
      directory_(handle.nodes) {
  for (const std::string& annotation : {args.hosts_annotation, args.claims_annotation}) {
    if (!annotation.empty()) handle.annotations.push_back(annotation);
  }
  if (handle.metrics != nullptr) {
    ignored_ = &handle.metrics->Counter(
        "berth_data_locality_ignored_entries_total",
        "[ALPHA] Entries of annotations and mounted claims that DataLocality ignored: beyond maxEntries, too "
        "long, or hosts that are not in the cluster.");
  }
}

Status DataLocality::PreScore(const Attempt& attempt, const RowSet&) const {
  Places& places = attempt.Buffer(places_);
  places.has_hosts = false;
  places.volumes.clear();
  const api::ObjectMeta& pod = attempt.pod().pod->metadata;
  if (args_.hosts_weight > 0 && !args_.hosts_annotation.empty()) {
    if (const std::string* names = pod.Annotation(args_.hosts_annotation)) FindHosts(attempt, *names, places);
  }
  if (args_.volumes_weight > 0) FindVolumes(attempt, places);
  return places.empty() ? Status::Skip() : Status{};
}

// --- hosts ---

void DataLocality::FindHosts(const Attempt& attempt, std::string_view names, Places& places) const {
  const cluster::NodeTable& nodes = attempt.nodes();
  places.hosts.Resize(nodes.rows());
  places.hosts.Clear();
  places.zones.Resize(nodes.rows());
  places.zones.Clear();
  if (directory_changes_ != nodes.node_changes()) {
    directory_changes_ = nodes.node_changes();
    directory_.NodesChanged();
    directory_.Refresh();
  }
  std::size_t unknown = 0;
  const std::size_t ignored =
      ForEachEntry(names, static_cast<std::size_t>(args_.max_entries), [&](std::string_view name) {
        const Row row = directory_.Find(name);
        if (row == cluster::kNoRow) {
          ++unknown;
        } else {
          places.hosts.Add(row);
          places.has_hosts = true;
        }
      });
  CountIgnored(ignored + unknown);
  if (!zone_key_.known()) return;
  const cluster::Topology& zones = nodes.TopologyOf(zone_key_);
  places.hosts.ForEach([&](std::size_t row) {
    if (row >= zones.domain.size() || zones.domain[row] == cluster::Topology::kNoDomain) return;
    if (places.zones.Has(row)) return;  // of another host
    const RowGroup* zone = nodes.WithLabel(zones.label_of[zones.domain[row]]);
    if (zone != nullptr) zone->AddTo(places.zones);
  });
}

// --- volumes ---

bool DataLocality::ReadsVolumes(const api::Pod& pod) const {
  if (args_.volumes_weight == 0) return false;
  if (!args_.claims_annotation.empty() && pod.metadata.Annotation(args_.claims_annotation) != nullptr)
    return true;
  return std::ranges::any_of(pod.spec.volumes, [&](const api::Volume& volume) {
    return cluster::ClaimNameOf(pod, volume).has_value();
  });
}

void DataLocality::FindVolumes(const Attempt& attempt, Places& places) const {
  const api::Pod& pod = *attempt.pod().pod;
  const auto most = static_cast<std::size_t>(args_.max_entries);
  std::size_t mounted = 0;
  for (const api::Volume& volume : pod.spec.volumes) {
    const auto claim = cluster::ClaimNameOf(pod, volume);
    if (claim && ++mounted <= most) AddVolume(attempt, *claim, places);
  }
  std::size_t ignored = mounted - std::min(mounted, most);
  const std::string* names =
      args_.claims_annotation.empty() ? nullptr : pod.metadata.Annotation(args_.claims_annotation);
  if (names != nullptr)
    ignored += ForEachEntry(*names, most, [&](std::string_view claim) { AddVolume(attempt, claim, places); });
  CountIgnored(ignored);
}

void DataLocality::AddVolume(const Attempt& attempt, std::string_view claim_name, Places& places) const {
  const auto claim =
      objects_.Of<api::PersistentVolumeClaim>().FindAssumed(attempt.pod().pod->metadata.ns, claim_name);
  if (claim == nullptr || claim->volume_name.empty()) return;
  StorageIndex::Volume* const volume = storage_->Find(claim->volume_name);
  if (volume == nullptr || StorageIndex::HasNoAffinity(*volume)) return;
  places.volumes.push_back(&storage_->RowsOf(*volume, attempt));
}

void DataLocality::CountIgnored(std::size_t entries) const {
  if (ignored_ != nullptr && entries > 0) ignored_->Add(entries);
}

// --- scores ---

std::int64_t DataLocality::Places::HostScore(std::size_t row, std::int64_t zone_score) const {
  if (hosts.Has(row)) return framework::kMaxScore;
  return zones.Has(row) ? zone_score : 0;
}

std::int64_t DataLocality::Places::VolumeScore(std::size_t row) const {
  const auto here = std::ranges::count_if(
      volumes, [row](const RowGroup* rows) { return rows->Has(static_cast<std::uint32_t>(row)); });
  return framework::kMaxScore * here / static_cast<std::int64_t>(volumes.size());
}

Status DataLocality::Score(const Attempt& attempt, const RowSet& feasible,
                           framework::ScoreColumn& scores) const {
  const Places& places = attempt.Buffer(places_);
  if (places.empty()) return {};
  const std::int64_t hosts_weight = places.has_hosts ? args_.hosts_weight : 0;
  const std::int64_t volumes_weight = places.volumes.empty() ? 0 : args_.volumes_weight;
  const auto column = scores.OverwriteBytes();
  feasible.ForEach([&](std::size_t row) {
    std::int64_t sum = 0;
    if (hosts_weight > 0) sum += hosts_weight * places.HostScore(row, args_.zone_score);
    if (volumes_weight > 0) sum += volumes_weight * places.VolumeScore(row);
    column[row] = static_cast<std::uint8_t>(sum / (hosts_weight + volumes_weight));
  });
  return {};
}

std::vector<framework::ScorePart> DataLocality::ScoreParts(const Attempt& attempt,
                                                           const RowSet& feasible) const {
  const Places& places = attempt.Buffer(places_);
  const std::size_t rows = attempt.nodes().rows();
  std::vector<framework::ScorePart> parts;
  const auto add = [&](const char* name, std::int64_t weight, auto&& score_of) {
    framework::ScorePart& part =
        parts.emplace_back(framework::ScorePart{.name = name,
                                                .weight = weight,
                                                .load = std::vector<double>(rows),
                                                .estimated = std::vector<double>(rows),
                                                .score = std::vector<double>(rows)});
    feasible.ForEach([&](std::size_t row) {
      part.score[row] = static_cast<double>(score_of(row));
      part.load[row] = part.score[row];
    });
  };
  if (places.has_hosts)
    add("hosts", args_.hosts_weight,
        [&](std::size_t row) { return places.HostScore(row, args_.zone_score); });
  if (!places.volumes.empty())
    add("volumes", args_.volumes_weight, [&](std::size_t row) { return places.VolumeScore(row); });
  return parts;
}

}  // namespace berth::plugins
