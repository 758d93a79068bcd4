#include "scheduler/plugins/node_affinity/matching_rows.hpp"

#include <algorithm>

#include "kubernetes/api/selectors.hpp"

namespace berth::plugins {
namespace {

using api::SelectorOp;
using cluster::CompiledField;
using cluster::CompiledRequirement;
using framework::Attempt;

// Adds the rows with a label for which the requirement is decided by presence.
void AddDeciding(const CompiledRequirement& requirement, const Attempt& attempt, RowSet& out) {
  const cluster::NodeTable& nodes = attempt.nodes();
  const cluster::SymbolTable& words = nodes.symbols();
  switch (requirement.op) {
    case SelectorOp::kIn:
    case SelectorOp::kNotIn:
      for (const cluster::LabelId label : requirement.labels) {
        if (const RowGroup* rows = nodes.WithLabel(label)) rows->AddTo(out);
      }
      return;
    case SelectorOp::kExists:
    case SelectorOp::kDoesNotExist:
      if (const RowSet* rows = nodes.WithKey(requirement.key)) out |= *rows;
      return;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      for (const cluster::LabelId label : words.LabelsOf(requirement.key)) {
        const auto number = words.NumberOf(label);
        if (!number) continue;
        const bool matches =
            requirement.op == SelectorOp::kGt ? *number > requirement.bound : *number < requirement.bound;
        if (const RowGroup* rows = matches ? nodes.WithLabel(label) : nullptr) rows->AddTo(out);
      }
      return;
  }
}

void Restrict(const CompiledRequirement& requirement, const Attempt& attempt, RowSet& rows) {
  auto deciding = attempt.Scratch();
  AddDeciding(requirement, attempt, *deciding);
  if (requirement.op == SelectorOp::kNotIn || requirement.op == SelectorOp::kDoesNotExist) {
    rows -= *deciding;
  } else {
    rows &= *deciding;
  }
}

void Restrict(const CompiledField& field, const Attempt& attempt, RowSet& rows) {
  if (!field.is_name) {
    // Any other field reads as an empty string on every node.
    if (field.value_empty == field.negated) rows.Clear();
    return;
  }
  const cluster::Row row = attempt.nodes().Find(field.name);
  if (field.negated) {
    if (row != cluster::kNoRow) rows.Remove(row);
    return;
  }
  const bool present = row != cluster::kNoRow && rows.Has(row);
  rows.Clear();
  if (present) rows.Add(row);
}

}  // namespace

void RestrictToTerm(const cluster::CompiledTerm& term, const Attempt& attempt, RowSet& rows) {
  if (term.never) {
    rows.Clear();
    return;
  }
  for (const CompiledRequirement& requirement : term.labels) Restrict(requirement, attempt, rows);
  for (const CompiledField& field : term.fields) Restrict(field, attempt, rows);
}

void RestrictToAnyTerm(const std::vector<cluster::CompiledTerm>& terms, const Attempt& attempt,
                       RowSet& rows) {
  if (terms.size() == 1) return RestrictToTerm(terms.front(), attempt, rows);
  auto any = attempt.Scratch();
  auto one = attempt.Scratch();
  for (const cluster::CompiledTerm& term : terms) {
    one->Clear();
    *one |= rows;
    RestrictToTerm(term, attempt, *one);
    *any |= *one;
  }
  rows &= *any;
}

namespace {

bool Matches(const CompiledRequirement& requirement, const api::Node& node,
             const cluster::SymbolTable& words) {
  const std::string* value = node.metadata.labels.Find(words.KeyText(requirement.key));
  const auto listed = [&] {
    return value != nullptr &&
           std::ranges::find(requirement.labels, words.FindLabel(requirement.key, *value)) !=
               requirement.labels.end();
  };
  const auto number = [&] { return value == nullptr ? std::nullopt : api::LabelAsInteger(*value); };
  switch (requirement.op) {
    case SelectorOp::kIn:
      return listed();
    case SelectorOp::kNotIn:
      return !listed();
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
      return number() && *number() > requirement.bound;
    case SelectorOp::kLt:
      return number() && *number() < requirement.bound;
  }
  return false;
}

bool Matches(const CompiledField& field, const api::Node& node, const cluster::SymbolTable& words) {
  if (!field.is_name) return field.value_empty != field.negated;
  return (words.node_names.Text(field.name) == node.metadata.name) != field.negated;
}

}  // namespace

void RestrictToRequired(const cluster::NodeSelection& selection, const framework::Attempt& attempt,
                        RowSet& rows) {
  for (const cluster::LabelId label : selection.selector) {
    auto scratch = attempt.Scratch();
    if (const RowGroup* group = attempt.nodes().WithLabel(label)) {
      group->Restrict(rows, *scratch);
    } else {
      rows.Clear();
    }
  }
  if (selection.has_required) RestrictToAnyTerm(selection.required, attempt, rows);
}

bool Matches(const cluster::CompiledTerm& term, const api::Node& node, const cluster::SymbolTable& words) {
  return !term.never &&
         std::ranges::all_of(term.labels, [&](const auto& label) { return Matches(label, node, words); }) &&
         std::ranges::all_of(term.fields, [&](const auto& field) { return Matches(field, node, words); });
}

bool MatchesAny(const std::vector<cluster::CompiledTerm>& terms, const api::Node& node,
                const cluster::SymbolTable& words) {
  return std::ranges::any_of(terms, [&](const auto& term) { return Matches(term, node, words); });
}

Expected<bool> MatchesRequired(const cluster::NodeSelection& selection, const api::Node& node,
                               const cluster::SymbolTable& words) {
  const bool selected = std::ranges::all_of(selection.selector, [&](cluster::LabelId label) {
    const std::string* value = node.metadata.labels.Find(words.KeyText(words.KeyOf(label)));
    return value != nullptr && words.FindLabel(words.KeyOf(label), *value) == label;
  });
  if (!selected) return false;
  if (!selection.has_required || MatchesAny(selection.required, node, words)) return true;
  if (!selection.required_error.empty()) return Invalid(selection.required_error);
  return false;
}

}  // namespace berth::plugins
