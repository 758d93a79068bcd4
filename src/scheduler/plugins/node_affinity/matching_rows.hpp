// Node selector terms answered for all nodes at once, from the sets behind the labels.
#pragma once

#include <vector>

#include "base/row_set.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Leaves in `rows` those that match the term.
void RestrictToTerm(const cluster::CompiledTerm& term, const framework::Attempt& attempt, RowSet& rows);

// Leaves in `rows` those that match any of the terms.
void RestrictToAnyTerm(const std::vector<cluster::CompiledTerm>& terms, const framework::Attempt& attempt,
                       RowSet& rows);

// Leaves in `rows` those that spec.nodeSelector and the required terms allow.
void RestrictToRequired(const cluster::NodeSelection& selection, const framework::Attempt& attempt,
                        RowSet& rows);

// The same questions about one node that need not be in the table: for queueing hints.
bool Matches(const cluster::CompiledTerm& term, const api::Node& node, const cluster::SymbolTable& words);
bool MatchesAny(const std::vector<cluster::CompiledTerm>& terms, const api::Node& node,
                const cluster::SymbolTable& words);
// spec.nodeSelector and the required terms.
bool MatchesRequired(const cluster::NodeSelection& selection, const api::Node& node,
                     const cluster::SymbolTable& words);

}  // namespace berth::plugins
