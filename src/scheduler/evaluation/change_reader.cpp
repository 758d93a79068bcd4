#include "scheduler/evaluation/change_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "scheduler/cluster/row_log.hpp"

namespace berth::evaluation {
namespace {

// Nodes and pods are read by row, pod groups with the evaluated pod.
template <class T>
inline constexpr bool kListed =
    !std::is_same_v<T, api::Node> && !std::is_same_v<T, api::Pod> && !std::is_base_of_v<api::PodGroup, T>;

// The composite groups of a tree.
void AddComposites(const cluster::GroupTree& tree, std::vector<api::PodGroupPtr>& objects) {
  if (tree.object->composite) objects.push_back(tree.object);
  for (const cluster::GroupTree& child : tree.children) AddComposites(child, objects);
}

// With fewer members the group would be gated in the copy, although it is not in the cluster.
std::size_t LeastMembers(const cluster::PodGroups::Group& group) {
  if (group.object == nullptr) return 0;
  // Each task needs some of the members.
  if (group.object->external != nullptr && !group.object->external->task_minimums.empty())
    return group.members.size();
  return static_cast<std::size_t>(std::max(0, group.object->min_count()));
}

// Adds the members that the copy lacks to what was left out.
void NoteCutMembers(const cluster::PodGroups& groups, CopyUpdate& update) {
  std::size_t read = 0, all = 0;
  for (const GroupState& state : update.groups) {
    read += state.members.size();
    const cluster::PodGroups::Group* group = groups.Find(state.key);
    all += group == nullptr ? 0 : group->members.size();
  }
  if (read < all)
    update.left_out.push_back(fmt::format("{} of {} members of the pod group", all - read, all));
}

// As in cycle/current_nominations.hpp: only the identity is known of a nominated pod that is not queued.
api::PodPtr IdentityOf(const api::Pod& pod) {
  api::Pod identity;
  identity.metadata.ns = pod.metadata.ns;
  identity.metadata.name = pod.metadata.name;
  identity.metadata.uid = pod.metadata.uid;
  return std::make_shared<const api::Pod>(std::move(identity));
}

}  // namespace

// Changes since the last update. Without `active` nothing is kept.
struct ChangeReader::Journal {
  bool active = false;
  bool overflown = false;
  std::vector<ports::ClusterChange> changes;

  template <class T>
  void Note(const ports::Change<T>& change) {
    if (!active || overflown) return;
    if (changes.size() >= kMostChanges) {
      overflown = true;
      changes = {};
      return;
    }
    changes.emplace_back(change);
  }
};

// The position in the listing of all objects: a kind, and the last object that was read of it.
struct ChangeReader::Listing {
  std::size_t kind = 0;
  std::string ns, name;  // empty: none yet
};

// The position in the members of the tree of the evaluated pod.
struct ChangeReader::MemberListing {
  std::string pod = {};                  // its UID
  std::vector<std::string> groups = {};  // keys; its own group first
  std::size_t next = 0;                  // the group that is read
  std::string after = {};                // the last member that was read of it, by UID; empty: none yet
  std::size_t members = 0;               // of the groups before it
};

ChangeReader::ChangeReader(assembly::Engine& live, const cycle::Scheduler& scheduler)
    : live_(live), scheduler_(scheduler), journal_(std::make_shared<Journal>()) {
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (kListed<T>) {
      live_.cache().objects().Of<T>().Listen(
          [journal = journal_](const ports::Change<T>& change) { journal->Note(change); });
    }
  });
}

ChangeReader::~ChangeReader() { Drop(); }

bool ChangeReader::Read(const std::string& pod, WallTime now, CopyUpdate& update) {
  work_ = {};
  if (!reading_ || journal_->overflown) Begin(update);
  FindChangedRows();
  const bool rows = ReadRows(update);
  const bool objects = ReadObjects(update);
  if (!rows || !objects || !ReadMembers(pod, update)) return false;
  ReadSignals(update);
  ReadNominations(update);
  ReadTree(update);
  update.as_of = now;
  return true;
}

void ChangeReader::Drop() {
  reading_ = false;
  *journal_ = {};
  listing_.reset();
  members_.reset();
  nodes_ = {};
  changed_ = {};
  polled_at_ = {};
  states_ = {};
}

void ChangeReader::Begin(CopyUpdate& update) {
  Drop();
  update = {};
  update.complete = true;
  reading_ = true;
  journal_->active = true;
  listing_ = std::make_unique<Listing>();
  seen_changes_ = std::as_const(live_).cache().nodes().pod_changes().count();
  seen_starts_ = std::as_const(live_).cache().nodes().start_changes().count();
  changed_ = std::as_const(live_).cache().nodes().all();
}

void ChangeReader::FindChangedRows() {
  const cluster::NodeTable& table = std::as_const(live_).cache().nodes();
  if (nodes_.size() < table.rows()) nodes_.resize(table.rows());
  changed_.Resize(table.rows());
  const auto read = [&](const cluster::RowLog& log, std::uint64_t& seen) {
    if (!log.ForEachSince(seen, [&](cluster::Row row) { changed_.Add(row); })) changed_ |= table.all();
    seen = log.count();
  };
  read(table.pod_changes(), seen_changes_);
  read(table.start_changes(), seen_starts_);
  for (cluster::Row row = 0; row < nodes_.size(); ++row) {
    if (nodes_[row] != table.shared_node(row)) changed_.Add(row);
  }
}

bool ChangeReader::ReadRows(CopyUpdate& update) {
  const cluster::NodeTable& table = std::as_const(live_).cache().nodes();
  std::vector<cluster::Row> read;
  changed_.ForEach([&](std::size_t index) {
    // Rows without pods count, too.
    if (work_.pods + work_.rows >= kPodsPerStep) return;
    const auto row = static_cast<cluster::Row>(index);
    RowState& state = update.rows.emplace_back(RowState{row, table.shared_node(row), {}});
    for (const cluster::PlacedPod* placed : table.pods(row)) state.pods.push_back(placed->pod);
    nodes_[row] = state.node;
    work_.pods += state.pods.size();
    ++work_.rows;
    read.push_back(row);
  });
  for (const cluster::Row row : read) changed_.Remove(row);
  return changed_.Empty();
}

bool ChangeReader::ReadObjects(CopyUpdate& update) {
  std::size_t kind = 0;
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (kListed<T>) {
      if (listing_ == nullptr || kind++ != listing_->kind || work_.objects >= kObjectsPerStep) return;
      const auto& table = live_.cache().objects().Of<T>();
      const std::size_t wanted = kObjectsPerStep - work_.objects;
      std::size_t found = 0;
      table.ForEachAfter(listing_->ns, listing_->name, wanted, [&](const std::shared_ptr<const T>& object) {
        ++found;
        listing_->ns = object->metadata.ns.str();
        listing_->name = object->metadata.name;
        update.objects.emplace_back(ports::Change<T>{nullptr, object});
      });
      work_.objects += found;
      if (found < wanted) *listing_ = {.kind = listing_->kind + 1, .ns = {}, .name = {}};
    }
  });
  if (listing_ != nullptr && listing_->kind < kind) return false;
  listing_.reset();
  // After the listing, so that later versions replace those of the listing.
  work_.objects += journal_->changes.size();
  if (update.objects.empty()) {
    update.objects.swap(journal_->changes);
  } else {
    std::ranges::move(journal_->changes, std::back_inserter(update.objects));
    journal_->changes.clear();
  }
  return true;
}

void ChangeReader::ReadSignals(CopyUpdate& update) {
  const load_metrics::SignalTable& table = live_.handle().signals;
  polled_at_.resize(table.size());
  states_.resize(table.size());
  bool others = false;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto id = static_cast<load_metrics::SignalId>(i);
    const load_metrics::Signal& signal = table.signal(id);
    if (signal.spec.subject != load_metrics::Subject::kNode) {
      others = true;
      continue;
    }
    // Guards may change the values without a poll; so all values are compared where the signal has guards.
    const bool same = polled_at_[i] == signal.polled_at && states_[i] == signal.state;
    if (same && signal.spec.guards.empty()) continue;
    polled_at_[i] = signal.polled_at;
    states_[i] = signal.state;
    update.signals.push_back({signal.spec, signal.state, signal.polled_at, signal.error, signal.values});
  }
  if (others)
    update.left_out.emplace_back(
        "measured usage of single pods and workloads, which load-aware plugins learn");
}

void ChangeReader::ReadNominations(CopyUpdate& update) {
  const auto& all = scheduler_.queue().nominator().all();
  for (const auto& [uid, nomination] : all) {
    if (update.nominated.size() == kMostNominations) {
      update.left_out.push_back(
          fmt::format("{} of {} nominated pods", all.size() - kMostNominations, all.size()));
      return;
    }
    const api::PodPtr& pod = nomination.pod->info.pod;
    update.nominated.push_back({scheduler_.queue().Contains(uid) ? pod : IdentityOf(*pod),
                                live_.symbols().node_names.Text(nomination.node)});
  }
}

// Reads the pod and the members of its tree. Those that were read in an earlier step may have changed since:
// their number decides whether the group is gated in the copy.
bool ChangeReader::ReadMembers(const std::string& key, CopyUpdate& update) {
  update.pending = scheduler_.FindPending(key);
  const cluster::PodGroups& groups = live_.groups();
  const auto own = update.pending == nullptr ? std::nullopt : groups.KeyOf(*update.pending);
  if (!own) {
    members_.reset();
    update.groups.clear();
    return true;
  }
  const std::string& uid = update.pending->metadata.uid;
  // Groups that come and go while the members are read do not begin it anew: it must end.
  if (members_ == nullptr || members_->pod != uid) {
    std::vector<std::string> tree{*own};
    if (const auto root = groups.RootOf(*own)) {
      for (std::string& leaf : groups.LeavesOf(*root)) {
        if (leaf != *own) tree.push_back(std::move(leaf));
      }
    }
    members_ = std::make_unique<MemberListing>(MemberListing{.pod = uid, .groups = std::move(tree)});
    update.groups.clear();
  }
  while (members_->next < members_->groups.size()) {
    if (!ReadGroup(*members_, update)) return false;
  }
  members_.reset();
  return true;
}

// Returns whether the last member of the group was read.
bool ChangeReader::ReadGroup(MemberListing& listing, CopyUpdate& update) {
  const std::string& key = listing.groups[listing.next];
  if (work_.members >= kMembersPerStep) return false;
  ++work_.members;  // groups without members count, too
  if (const cluster::PodGroups::Group* group = live_.groups().Find(key)) {
    const std::size_t left = kMostMembers - std::min(kMostMembers, listing.members);
    const std::size_t most = std::max(left, LeastMembers(*group));
    if (update.groups.empty() || update.groups.back().key != key) {
      update.groups.push_back({key, nullptr, {}});
      const auto evaluated = group->members.find(listing.pod);
      if (evaluated != group->members.end()) update.groups.back().members.push_back(evaluated->second);
    }
    auto& members = update.groups.back().members;
    for (auto member = group->members.upper_bound(listing.after); member != group->members.end(); ++member) {
      if (members.size() >= most) break;
      if (member->first == listing.pod) continue;
      if (work_.members >= kMembersPerStep) return false;
      ++work_.members;
      members.push_back(member->second);
      listing.after = member->first;
    }
    listing.members += members.size();
  }
  listing.after.clear();
  ++listing.next;
  return true;
}

// The objects of the groups whose members were read, and those above them.
void ChangeReader::ReadTree(CopyUpdate& update) {
  if (update.groups.empty()) return;
  update.left_out.emplace_back(
      "the other members of the pod group, which are scheduled together with the pod");
  const cluster::PodGroups& groups = live_.groups();
  for (GroupState& state : update.groups) state.object = groups.FindObject(state.key);
  const std::string& own = update.groups.front().key;
  if (const auto root = groups.RootOf(own)) {
    AddComposites(groups.TreeOf(*root), update.composites);
  } else {
    groups.ForEachUp(own, [&](const std::string& key, const api::PodGroup& group) {
      if (group.composite) update.composites.push_back(groups.FindObject(key));
    });
  }
  NoteCutMembers(groups, update);
}

}  // namespace berth::evaluation
