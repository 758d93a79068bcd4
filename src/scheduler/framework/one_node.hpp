// The familiar door: rules about one node at a time, and work that blocks. These adapters turn them into the
// forms of scheduler/framework/plugin.hpp; a plugin may use both doors at once.
//
//   class FewPods final : public berth::framework::OneNodeFilterPlugin {
//    public:
//     std::string_view Name() const override { return "FewPods"; }
//     Status FilterNode(const Attempt&, const NodeView& node) const override {
//       return node.pods().size() < 10 ? Status{} : Status::Unschedulable("node(s) had ten pods");
//     }
//   };
//
// FilterNode is called only for nodes that no earlier plugin rejected, ScoreNode only for feasible ones. The
// price: a virtual call per node, and reasons that are kept as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// A node as it stands in an attempt, imagined pods included.
class NodeView {
 public:
  NodeView(const cluster::NodeTable& table, cluster::Row row) : table_(&table), row_(row) {}

  cluster::Row row() const { return row_; }
  const std::string& name() const { return table_->name(row_); }
  const api::Node& object() const { return table_->node(row_); }
  // Null if the node has no such label.
  const std::string* Label(std::string_view key) const { return object().metadata.labels.Find(key); }
  std::span<cluster::PlacedPod* const> pods() const { return table_->pods(row_); }
  // By resource name: milli-cores, bytes, counts. 0 for what the node does not have.
  std::int64_t Allocatable(std::string_view resource) const;
  std::int64_t Requested(std::string_view resource) const;
  // The same without a search for the name: kCpu, kMemory, or what Handle::symbols.InternResource said.
  std::int64_t Allocatable(cluster::ResourceId resource) const { return Entry(table_->allocatable(resource)); }
  std::int64_t Requested(cluster::ResourceId resource) const { return Entry(table_->requested(resource)); }

 private:
  std::int64_t Entry(std::span<const std::int64_t> column) const { return column.empty() ? 0 : column[row_]; }

  const cluster::NodeTable* table_;
  cluster::Row row_;
};

// What a filter says of one row: nothing for Success, the rejection with its reasons, or an error.
void SayOfRow(cluster::Row row, const Status& status, Rejections& out);

class OneNodeFilterPlugin : public FilterPlugin {
 public:
  // Success, a rejection, or an error; anything else is an error too.
  virtual Status FilterNode(const Attempt& attempt, const NodeView& node) const = 0;
  void Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const final;
};

class OneNodeScorePlugin : public ScorePlugin {
 public:
  // Any number; within 0 and kMaxScore unless Normalize is overridden.
  virtual Expected<std::int64_t> ScoreNode(const Attempt& attempt, const NodeView& node) const = 0;
  Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const final;
};

// PreBind work that waits for somebody: runs on a thread of its own, several pods at a time.
class BlockingPreBindPlugin : public PreBindPlugin {
 public:
  explicit BlockingPreBindPlugin(Handle& handle) : handle_(handle) {}
  // Look at `stop` now and then.
  virtual Status PreBindNow(const Placement& placement, std::stop_token stop) = 0;
  PreFlight PreBindPreFlight(const Placement&) override { return {}; }
  void PreBind(const Placement& placement, std::stop_token stop, Answer answer) final;

 private:
  Handle& handle_;
};

class BlockingBindPlugin : public BindPlugin {
 public:
  explicit BlockingBindPlugin(Handle& handle) : handle_(handle) {}
  virtual Status BindNow(const Placement& placement) = 0;
  void Bind(const Placement& placement, Answer answer) final;

 private:
  Handle& handle_;
};

}  // namespace berth::framework
