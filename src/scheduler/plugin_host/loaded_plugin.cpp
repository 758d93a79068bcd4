#include "scheduler/plugin_host/loaded_plugin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <typeinfo>
#include <utility>

#include "base/write_yaml.hpp"
#include "scheduler/framework/one_node.hpp"
#include "scheduler/plugin_host/events.hpp"
#include "scheduler/plugin_host/handles.hpp"

namespace berth::plugin_host {
namespace {

using cluster::Row;
using framework::Attempt;
using framework::Code;
using framework::Placement;
using framework::ScoreColumn;
using framework::Status;

constexpr std::initializer_list<std::int32_t> kSuccessOrError = {BERTH_SUCCESS, BERTH_ERROR};
constexpr std::initializer_list<std::int32_t> kVerdict = {BERTH_SUCCESS, BERTH_UNSCHEDULABLE,
                                                          BERTH_UNRESOLVABLE, BERTH_PENDING, BERTH_ERROR};

Code CodeOf(std::int32_t code) {
  switch (code) {
    case BERTH_SUCCESS:
      return Code::kSuccess;
    case BERTH_UNSCHEDULABLE:
      return Code::kUnschedulable;
    case BERTH_UNRESOLVABLE:
      return Code::kUnschedulableAndUnresolvable;
    case BERTH_WAIT:
      return Code::kWait;
    case BERTH_SKIP:
      return Code::kSkip;
    case BERTH_PENDING:
      return Code::kPending;
    default:
      return Code::kError;
  }
}

// The status that `function` returned; an error if it is not among `allowed`.
Status StatusOf(const char* function, std::int32_t code, berth_reply& reply,
                std::initializer_list<std::int32_t> allowed) {
  if (std::ranges::find(allowed, code) == allowed.end()) {
    std::string list;
    for (const std::int32_t one : allowed)
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", one, framework::CodeName(CodeOf(one)));
    return Status::Error(fmt::format("{} returned {}, expected one of {}", function, code, list));
  }
  Status status{CodeOf(code), std::move(reply.texts), {}};
  reply.texts.clear();
  if (status.code == Code::kError && status.reasons.empty())
    status.reasons.push_back(fmt::format("{} failed without an error text", function));
  return status;
}

class LibraryPlugin final : public framework::PreFilterPlugin,
                            public framework::FilterPlugin,
                            public framework::PreScorePlugin,
                            public framework::ScorePlugin,
                            public framework::ReservePlugin,
                            public framework::PermitPlugin,
                            public framework::BlockingPreBindPlugin,
                            public framework::PostBindPlugin {
 public:
  static framework::PluginOrError Create(const berth_plugin& table, const framework::RawArgs& raw,
                                         framework::Handle& handle);
  LibraryPlugin(const berth_plugin& table, framework::Handle& handle)
      : BlockingPreBindPlugin(handle), table_(table), scheduler_(table.name, handle) {}
  ~LibraryPlugin() override {
    if (self_ != nullptr) table_.destroy(self_);
  }

  std::string_view Name() const override { return table_.name; }
  bool IsEnabledAt(const std::type_info& point) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

  framework::PreFilterResult PreFilter(const Attempt& attempt) const override;
  void Filter(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const override;
  Status PreScore(const Attempt& attempt, const RowSet& feasible) const override;
  Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const override;
  Status Normalize(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const override;
  Status Reserve(const Placement& placement) override;
  void Unreserve(const Placement& placement) override;
  framework::PermitResult Permit(const Placement& placement) override;
  PreFlight PreBindPreFlight(const Placement& placement) override;
  Status PreBindNow(const Placement& placement, std::stop_token stop) override;
  void PostBind(const Placement& placement) override;

 private:
  void FilterEach(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const;
  void FilterAll(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const;
  Status ScoreEach(const Attempt& attempt, const RowSet& feasible, std::span<std::int64_t> scores) const;
  Status NormalizeEach(const Attempt& attempt, const RowSet& feasible, std::span<std::int64_t> scores) const;
  // Calls a function of the table that receives a set of rows.
  template <class Function, class... Args>
  Status Ask(const char* name, Function function, const Attempt& attempt, const RowSet& rows,
             std::initializer_list<std::int32_t> allowed, Args... args) const;
  berth_attempt HandleOf(const Attempt& attempt) const { return {attempt, scheduler_}; }
  berth_placement HandleOf(const Placement& placement) const { return {placement, scheduler_}; }

  const berth_plugin table_;
  mutable berth_scheduler scheduler_;  // mutable: host functions modify it in calls of const functions
  void* self_ = nullptr;
};

// --- creation ---

framework::PluginOrError LibraryPlugin::Create(const berth_plugin& table, const framework::RawArgs& raw,
                                               framework::Handle& handle) {
  auto plugin = std::make_unique<LibraryPlugin>(table, handle);
  const config::Value value = raw.value != nullptr ? *raw.value : config::Value::Map();
  const std::string arguments = yaml::ToJson(value);
  ArgumentReader reader(value, plugin->scheduler_.name);
  framework::AcceptTypeMeta(reader.fields);
  berth_reply reply;
  reply.arguments = &reader;
  plugin->self_ = table.create(&Host(), &plugin->scheduler_, arguments.c_str(), &reply);
  if (reader.used) reader.fields.Finish();
  if (!reader.problems.empty()) return Invalid(reader.problems.Text());
  if (plugin->self_ != nullptr) return plugin;
  if (reply.texts.empty()) return Invalid("create returned NULL without an error text");
  std::string text;
  for (const std::string& error : reply.texts) {
    if (!text.empty()) text += ", ";
    text += raw.path.empty() ? error : raw.path + "." + error;
  }
  return Invalid(std::move(text));
}

bool LibraryPlugin::IsEnabledAt(const std::type_info& point) const {
  if (point == typeid(framework::PreFilterPlugin)) return table_.pre_filter != nullptr;
  if (point == typeid(framework::FilterPlugin))
    return table_.filter != nullptr || table_.filter_node != nullptr;
  if (point == typeid(framework::PreScorePlugin)) return table_.pre_score != nullptr;
  if (point == typeid(framework::ScorePlugin)) return table_.score != nullptr || table_.score_node != nullptr;
  if (point == typeid(framework::ReservePlugin)) return table_.reserve != nullptr;
  if (point == typeid(framework::PermitPlugin)) return table_.permit != nullptr;
  if (point == typeid(framework::PreBindPlugin)) return table_.pre_bind != nullptr;
  if (point == typeid(framework::PostBindPlugin)) return table_.post_bind != nullptr;
  return false;
}

std::vector<framework::EventRegistration> LibraryPlugin::EventsToRegister() const {
  if (table_.events == nullptr) return Plugin::EventsToRegister();
  std::vector<framework::EventRegistration> registrations;
  for (std::size_t i = 0; i < table_.event_count; ++i)
    registrations.emplace_back(ResourceOf(table_.events[i].resource).value(), table_.events[i].actions);
  return registrations;
}

template <class Function, class... Args>
Status LibraryPlugin::Ask(const char* name, Function function, const Attempt& attempt, const RowSet& rows,
                          std::initializer_list<std::int32_t> allowed, Args... args) const {
  auto evaluated = attempt.Scratch();  // a copy as large as the table, whatever the size of the set
  *evaluated |= rows;
  const berth_attempt handle = HandleOf(attempt);
  berth_reply reply;
  const std::int32_t code = function(self_, &handle, evaluated->words().data(), args..., &reply);
  return StatusOf(name, code, reply, allowed);
}

// --- filters ---

framework::PreFilterResult LibraryPlugin::PreFilter(const Attempt& attempt) const {
  const berth_attempt handle = HandleOf(attempt);
  berth_reply reply;
  const std::int32_t code = table_.pre_filter(self_, &handle, &reply);
  framework::PreFilterResult answer{StatusOf("pre_filter", code, reply,
                                             {BERTH_SUCCESS, BERTH_SKIP, BERTH_UNSCHEDULABLE,
                                              BERTH_UNRESOLVABLE, BERTH_PENDING, BERTH_ERROR}),
                                    std::nullopt};
  if (!reply.only) return answer;
  auto& nodes = answer.nodes.emplace();
  // A plugin may take names from pods, so that a name without a node is not kept: it has the unknown id.
  for (const std::string& name : *reply.only)
    nodes.push_back(scheduler_.handle.symbols.node_names.Find(name));
  return answer;
}

void LibraryPlugin::Filter(const Attempt& attempt, const RowSet& candidates,
                           framework::Rejections& out) const {
  table_.filter != nullptr ? FilterAll(attempt, candidates, out) : FilterEach(attempt, candidates, out);
}

void LibraryPlugin::FilterEach(const Attempt& attempt, const RowSet& candidates,
                               framework::Rejections& out) const {
  const berth_attempt handle = HandleOf(attempt);
  berth_reply reply;
  candidates.ForEach([&](std::size_t index) {
    const Row row = static_cast<Row>(index);
    const std::int32_t code = table_.filter_node(self_, &handle, row, &reply);
    if (code == BERTH_SUCCESS && reply.texts.empty()) return;
    framework::AddRowStatus(row, StatusOf("filter_node", code, reply, kVerdict), out);
  });
}

// The first member of the set beyond a table of this size; nullopt if there is none.
std::optional<std::size_t> BeyondTable(const RowSet& set, std::size_t rows) {
  const std::span<const RowSet::Word> words = set.words();
  std::size_t word = rows / RowSet::kWordBits;
  if (word < words.size()) {
    const RowSet::Word past = words[word] & (~RowSet::Word{0} << (rows % RowSet::kWordBits));
    if (past != 0) return word * RowSet::kWordBits + static_cast<std::size_t>(std::countr_zero(past));
  }
  while (++word < words.size()) {
    if (words[word] != 0)
      return word * RowSet::kWordBits + static_cast<std::size_t>(std::countr_zero(words[word]));
  }
  return std::nullopt;
}

std::string RowsBeyondTable(const framework::Rejections& out, std::size_t rows) {
  const auto check = [&](const RowSet& set) {
    const auto beyond = BeyondTable(set, rows);
    return beyond ? fmt::format("filter rejected row {} of a table of {}", *beyond, rows) : "";
  };
  for (const framework::Rejections::Entry& entry : out.entries()) {
    if (std::string wrong = check(entry.rows); !wrong.empty()) return wrong;
  }
  return check(out.unresolvable());
}

void LibraryPlugin::FilterAll(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  const std::size_t rows = attempt.nodes().rows();
  berth_rejections rejections{out, scheduler_, rows, ""};
  const Status status = Ask("filter", table_.filter, attempt, candidates, kSuccessOrError, &rejections);
  std::string wrong = status.ok() ? std::move(rejections.wrong) : status.Message();
  if (wrong.empty()) wrong = RowsBeyondTable(out, rows);
  if (wrong.empty()) return;
  out.Reset();
  out.Fail(static_cast<Row>(candidates.First()), std::move(wrong));
}

// --- scores ---

Status LibraryPlugin::PreScore(const Attempt& attempt, const RowSet& feasible) const {
  return Ask("pre_score", table_.pre_score, attempt, feasible, {BERTH_SUCCESS, BERTH_SKIP, BERTH_ERROR});
}

Status LibraryPlugin::Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const {
  const std::span<std::int64_t> column = scores.Mutable();
  if (table_.score == nullptr) return ScoreEach(attempt, feasible, column);
  return Ask("score", table_.score, attempt, feasible, kSuccessOrError, column.data());
}

Status LibraryPlugin::ScoreEach(const Attempt& attempt, const RowSet& feasible,
                                std::span<std::int64_t> scores) const {
  const berth_attempt handle = HandleOf(attempt);
  berth_reply reply;
  Status failed;
  feasible.ForEach([&](std::size_t row) {
    if (!failed.ok()) return;
    const std::int32_t code = table_.score_node(self_, &handle, static_cast<Row>(row), &scores[row], &reply);
    if (code == BERTH_SUCCESS && reply.texts.empty()) return;
    failed = StatusOf("score_node", code, reply, kSuccessOrError);
  });
  return failed;
}

Status LibraryPlugin::Normalize(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const {
  if (table_.normalize == nullptr && table_.normalize_node == nullptr) return {};
  const std::span<std::int64_t> column = scores.Mutable();
  if (table_.normalize == nullptr) return NormalizeEach(attempt, feasible, column);
  return Ask("normalize", table_.normalize, attempt, feasible, kSuccessOrError, column.data());
}

Status LibraryPlugin::NormalizeEach(const Attempt& attempt, const RowSet& feasible,
                                    std::span<std::int64_t> scores) const {
  std::int64_t lowest = INT64_MAX, highest = INT64_MIN;
  feasible.ForEach([&](std::size_t row) {
    lowest = std::min(lowest, scores[row]);
    highest = std::max(highest, scores[row]);
  });
  const berth_attempt handle = HandleOf(attempt);
  berth_reply reply;
  Status failed;
  feasible.ForEach([&](std::size_t row) {
    if (!failed.ok()) return;
    const std::int32_t code =
        table_.normalize_node(self_, &handle, static_cast<Row>(row), lowest, highest, &scores[row], &reply);
    if (code == BERTH_SUCCESS && reply.texts.empty()) return;
    failed = StatusOf("normalize_node", code, reply, kSuccessOrError);
  });
  return failed;
}

// --- placement ---

Status LibraryPlugin::Reserve(const Placement& placement) {
  const berth_placement handle = HandleOf(placement);
  berth_reply reply;
  const std::int32_t code = table_.reserve(self_, &handle, &reply);
  return StatusOf("reserve", code, reply, kVerdict);
}

void LibraryPlugin::Unreserve(const Placement& placement) {
  const berth_placement handle = HandleOf(placement);
  table_.unreserve(self_, &handle);
}

framework::PermitResult LibraryPlugin::Permit(const Placement& placement) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(15);
  const berth_placement handle = HandleOf(placement);
  berth_reply reply;
  std::int64_t timeout_ms = kLongest.count();
  const std::int32_t code = table_.permit(self_, &handle, &timeout_ms, &reply);
  Status status = StatusOf(
      "permit", code, reply,
      {BERTH_SUCCESS, BERTH_WAIT, BERTH_UNSCHEDULABLE, BERTH_UNRESOLVABLE, BERTH_PENDING, BERTH_ERROR});
  return {std::move(status),
          std::clamp(std::chrono::milliseconds(timeout_ms), std::chrono::milliseconds(0), kLongest)};
}

LibraryPlugin::PreFlight LibraryPlugin::PreBindPreFlight(const Placement& placement) {
  PreFlight flight{.status = {}, .allow_parallel = (table_.flags & BERTH_FLAG_PARALLEL_PRE_BIND) != 0};
  if (table_.pre_bind_pre_flight == nullptr) return flight;
  const berth_placement handle = HandleOf(placement);
  berth_reply reply;
  const std::int32_t code = table_.pre_bind_pre_flight(self_, &handle, &reply);
  flight.status = StatusOf("pre_bind_pre_flight", code, reply, {BERTH_SUCCESS, BERTH_SKIP, BERTH_ERROR});
  return flight;
}

Status LibraryPlugin::PreBindNow(const Placement& placement, std::stop_token stop) {
  berth_placement handle = HandleOf(placement);
  handle.stop = &stop;
  berth_reply reply;
  const std::int32_t code = table_.pre_bind(self_, &handle, &reply);
  return StatusOf("pre_bind", code, reply,
                  {BERTH_SUCCESS, BERTH_UNSCHEDULABLE, BERTH_UNRESOLVABLE, BERTH_ERROR});
}

void LibraryPlugin::PostBind(const Placement& placement) {
  const berth_placement handle = HandleOf(placement);
  table_.post_bind(self_, &handle);
}

}  // namespace

framework::Factory FactoryOf(const berth_plugin& table) {
  return [table](const framework::RawArgs& raw, framework::Handle& handle) {
    return LibraryPlugin::Create(table, raw, handle);
  };
}

}  // namespace berth::plugin_host
