// Adapters for plugins that evaluate one node at a time, and for work that blocks. They implement the
// interfaces of scheduler/framework/plugin.hpp; a plugin may use both kinds.
//
//   class FewPods final : public berth::framework::OneNodeFilterPlugin {
//    public:
//     std::string_view Name() const override { return "FewPods"; }
//     Status FilterNode(const Attempt&, const NodeView& node) const override {
//       return node.pods().size() < 10 ? Status{} : Status::Unschedulable("node(s) had ten pods");
//     }
//   };
//
// FilterNode is called only for nodes that no earlier plugin rejected, ScoreNode only for feasible nodes.
// Compared with the set-based interfaces, this costs a virtual call per node, and reasons are stored as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// A node's state in an attempt, including pods added by a dry run.
class NodeView {
 public:
  NodeView(const cluster::NodeTable& table, cluster::Row row) : table_(&table), row_(row) {}

  cluster::Row row() const { return row_; }
  const std::string& name() const { return table_->name(row_); }
  const api::Node& object() const { return table_->node(row_); }
  // Null if the node has no such label.
  const std::string* Label(std::string_view key) const { return object().metadata.labels.Find(key); }
  std::span<cluster::PlacedPod* const> pods() const { return table_->pods(row_); }
  // By resource name, in milli-cores, bytes or counts. 0 if the node does not have the resource.
  std::int64_t Allocatable(std::string_view resource) const;
  std::int64_t Requested(std::string_view resource) const;
  // Without a lookup by name: kCpu, kMemory, or a result of SymbolTable::InternResource.
  std::int64_t Allocatable(cluster::ResourceId resource) const {
    return Entry(table_->allocatable(resource));
  }
  std::int64_t Requested(cluster::ResourceId resource) const { return Entry(table_->requested(resource)); }

 private:
  std::int64_t Entry(std::span<const std::int64_t> column) const { return column.empty() ? 0 : column[row_]; }

  const cluster::NodeTable* table_;
  cluster::Row row_;
};

// Adds the status of one row to a filter's result: nothing for Success, the reasons of a rejection, or an
// error.
void AddRowStatus(cluster::Row row, const Status& status, Rejections& out);

// A filter for one node at a time.
class OneNodeFilterPlugin : public FilterPlugin {
 public:
  // Returns Success, a rejection, or an error. Any other status is treated as an error.
  virtual Status FilterNode(const Attempt& attempt, const NodeView& node) const = 0;
  void Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const final;
};

// A score for one node at a time.
class OneNodeScorePlugin : public ScorePlugin {
 public:
  // Returns any number; between 0 and kMaxScore unless Normalize is overridden.
  virtual Expected<std::int64_t> ScoreNode(const Attempt& attempt, const NodeView& node) const = 0;
  Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const final;
};

// PreBind work that blocks, for example on I/O. Runs on a worker thread, for several pods concurrently.
class BlockingPreBindPlugin : public PreBindPlugin {
 public:
  explicit BlockingPreBindPlugin(Handle& handle) : handle_(handle) {}
  // Must poll `stop` and return early when it is requested; not called if it was requested before. Called on
  // a worker thread.
  virtual Status PreBindNow(const Placement& placement, std::stop_token stop) = 0;
  PreFlight PreBindPreFlight(const Placement&) override { return {}; }
  void PreBind(const Placement& placement, std::stop_token stop, StatusCallback answer) final;

 private:
  Handle& handle_;
};

// A binding that blocks. Runs on a worker thread, for several pods concurrently.
class BlockingBindPlugin : public BindPlugin {
 public:
  explicit BlockingBindPlugin(Handle& handle) : handle_(handle) {}
  virtual Status BindNow(const Placement& placement) = 0;
  void Bind(const Placement& placement, StatusCallback answer) final;

 private:
  Handle& handle_;
};

}  // namespace berth::framework
