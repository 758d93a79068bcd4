#include "scheduler/cluster/pod_selectors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/seeded_hash.hpp"

namespace berth::cluster {
namespace {

// Length prefixes make the concatenation unambiguous.
void Append(std::string& key, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof(size));
  key += text;
}

std::string TextOf(const PodClause& clause) {
  std::string text;
  for (const std::string& ns : clause.namespaces) Append(text, ns);
  return text + "|" + clause.namespace_selector.Text() + "|" + clause.labels.Text();
}

template <class T>
const T* OrNull(const api::CowPtr<T>& value) {
  return value ? &*value : nullptr;
}

Expected<AffinityTermPtr> Compile(const api::PodAffinityTerm& term, const std::string& own_namespace,
                                  SymbolTable& symbols) {
  PodClause clause;
  BERTH_TRY(clause.labels, api::ParseLabelSelector(OrNull(term.label_selector)));
  BERTH_TRY(clause.namespace_selector, api::ParseLabelSelector(OrNull(term.namespace_selector)));
  clause.namespaces.assign(term.namespaces.begin(), term.namespaces.end());
  if (clause.namespaces.empty() && !term.namespace_selector) clause.namespaces = {own_namespace};
  std::ranges::sort(clause.namespaces);
  PodQueryPtr query = InternQuery({{std::move(clause)}, false}, symbols);
  // Equal queries are the same object, so the address identifies the query.
  std::string key = fmt::format("{} {}", static_cast<const void*>(query.get()), term.topology_key);
  return symbols.affinity_terms.Get(std::move(key), [&] {
    SymbolScope scope(symbols);
    const LabelKeyId topology_key = scope.InternKey(term.topology_key);
    return AffinityTerm{std::move(query), topology_key, scope.Lease()};
  });
}

// Reads affinity terms. One invalid term makes the whole list unusable.
class Reader {
 public:
  Reader(const api::Pod& pod, SymbolTable& symbols) : pod_(pod), symbols_(symbols) {}

  // Returns whether all terms are valid.
  bool Required(const char* name, const api::PodAffinity* affinity, std::vector<AffinityTermPtr>& out) {
    if (affinity == nullptr) return true;
    for (const api::PodAffinityTerm& term : affinity->required) {
      auto compiled = Compile(term, pod_.metadata.ns, symbols_);
      if (!compiled) {
        errors_.push_back(fmt::format("{}: {}", name, compiled.error().message));
        out.clear();
        return false;
      }
      out.push_back(*std::move(compiled));
    }
    return true;
  }
  void Preferred(const char* name, const api::PodAffinity* affinity, int sign,
                 std::vector<WeightedAffinityTerm>& out) {
    if (affinity == nullptr) return;
    const std::size_t before = out.size();
    for (const api::WeightedPodAffinityTerm& weighted : affinity->preferred) {
      auto compiled = Compile(weighted.term, pod_.metadata.ns, symbols_);
      if (!compiled) {
        errors_.push_back(fmt::format("{}: {}", name, compiled.error().message));
        out.resize(before);
        return;
      }
      out.push_back({*std::move(compiled), std::int64_t{sign} * weighted.weight});
    }
  }
  std::string Error() const { return api::JoinErrors(errors_); }

 private:
  const api::Pod& pod_;
  SymbolTable& symbols_;
  std::vector<std::string> errors_;
};

std::string TextOf(const PodAffinityTerms& terms) {
  std::string text = terms.error;
  for (const AffinityTermPtr& term : terms.required)
    text += fmt::format("r{}", static_cast<const void*>(term.get()));
  for (const AffinityTermPtr& term : terms.required_anti)
    text += fmt::format("a{}", static_cast<const void*>(term.get()));
  for (const auto& [term, weight] : terms.preferred)
    text += fmt::format("p{}*{}", static_cast<const void*>(term.get()), weight);
  return text + (terms.has_preferred ? "+" : "-");
}

Expected<SpreadConstraint> Compile(const api::TopologySpreadConstraint& constraint, const api::Pod& pod,
                                   bool match_label_keys, SymbolScope& symbols) {
  SpreadConstraint compiled;
  BERTH_TRY(api::ParsedSelector selector, api::ParseLabelSelector(OrNull(constraint.label_selector)));
  if (match_label_keys) {
    for (const std::string& key : constraint.match_label_keys) {
      if (const std::string* value = pod.metadata.labels.Find(key)) selector.RequireEqual(key, *value);
    }
  }
  compiled.max_skew = constraint.max_skew;
  compiled.topology_key = symbols.InternKey(constraint.topology_key);
  compiled.min_domains = constraint.min_domains.value_or(1);
  compiled.honor_affinity =
      constraint.node_affinity_policy.empty() || constraint.node_affinity_policy == "Honor";
  compiled.honor_taints = constraint.node_taints_policy == "Honor";
  compiled.self_matches = selector.Matches(pod.metadata.labels);
  compiled.counts = !selector.everything();
  compiled.query = SpreadQuery(pod.metadata.ns, std::move(selector), symbols.symbols());
  return compiled;
}

void ReadConstraints(const api::Pod& pod, std::string_view action, bool match_label_keys,
                     SymbolScope& symbols, std::vector<SpreadConstraint>& out, std::string& error) {
  for (const api::TopologySpreadConstraint& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != action) continue;
    auto compiled = Compile(constraint, pod, match_label_keys, symbols);
    if (!compiled) {
      error = compiled.error().message;
      return out.clear();
    }
    out.push_back(*std::move(compiled));
  }
}

}  // namespace

std::size_t HashOfLabel(std::string_view key, std::string_view value) { return SeededHash()(key, value); }

PodLabelsPtr LabelsOf(const api::Pod& pod, SymbolTable& symbols) {
  std::string key = pod.metadata.deleting() ? "-" : "+";
  Append(key, pod.metadata.ns);
  for (const auto& [name, value] : pod.metadata.labels) {
    Append(key, name);
    Append(key, value);
  }
  return symbols.pod_labels.Get(std::move(key), [&] {
    PodLabels made{pod.metadata.ns, pod.metadata.labels, pod.metadata.deleting(), {}};
    for (const auto& [name, value] : made.labels) made.hashes.push_back(HashOfLabel(name, value));
    return made;
  });
}

PodQueryPtr InternQuery(PodQuery query, SymbolTable& symbols) {
  std::string key = query.skip_terminating ? "-" : "+";
  for (const PodClause& clause : query.all_of) Append(key, TextOf(clause));
  return symbols.pod_queries.Get(std::move(key), [&] { return std::move(query); });
}

PodQueryPtr SpreadQuery(const std::string& ns, api::ParsedSelector selector, SymbolTable& symbols) {
  PodClause clause;
  clause.namespaces = {ns};
  clause.labels = std::move(selector);
  return InternQuery({{std::move(clause)}, true}, symbols);
}

PodAffinityPtr AffinityOf(const api::Pod& pod, SymbolTable& symbols) {
  const api::PodAffinity* attract = OrNull(pod.spec.pod_affinity);
  const api::PodAffinity* repel = OrNull(pod.spec.pod_anti_affinity);
  if (attract == nullptr && repel == nullptr) return nullptr;
  PodAffinityTerms terms;
  Reader reader(pod, symbols);
  terms.required_valid = reader.Required("requiredAffinityTerms", attract, terms.required);
  terms.required_anti_valid = reader.Required("requiredAntiAffinityTerms", repel, terms.required_anti);
  reader.Preferred("preferredAffinityTerms", attract, 1, terms.preferred);
  reader.Preferred("preferredAntiAffinityTerms", repel, -1, terms.preferred);
  terms.error = reader.Error();
  terms.has_preferred =
      (attract != nullptr && !attract->preferred.empty()) || (repel != nullptr && !repel->preferred.empty());
  if (!terms.required.empty()) {
    PodQuery all;
    for (const AffinityTermPtr& term : terms.required) all.all_of.push_back(term->clause());
    terms.all_required = InternQuery(std::move(all), symbols);
  }
  std::string key = TextOf(terms);
  return symbols.pod_affinities.Get(std::move(key), [&] { return std::move(terms); });
}

SpreadPtr SpreadOf(const api::Pod& pod, bool match_label_keys, SymbolTable& symbols) {
  if (pod.spec.topology_spread_constraints.empty()) return nullptr;
  auto spread = std::make_shared<SpreadConstraints>();
  SymbolScope scope(symbols);
  ReadConstraints(pod, "DoNotSchedule", match_label_keys, scope, spread->hard, spread->hard_error);
  ReadConstraints(pod, "ScheduleAnyway", match_label_keys, scope, spread->soft, spread->soft_error);
  spread->symbols = scope.Lease();
  return spread;
}

}  // namespace berth::cluster
