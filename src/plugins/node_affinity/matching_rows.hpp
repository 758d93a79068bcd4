// Node selector terms answered for all nodes at once, from the sets behind the labels.
#pragma once

#include <vector>

#include "base/row_set.hpp"
#include "framework/plugin.hpp"

namespace berth::plugins {

// Leaves in `rows` those that match the term.
void RestrictToTerm(const framework::CompiledTerm& term, const framework::Attempt& attempt, RowSet& rows);

// Leaves in `rows` those that match any of the terms.
void RestrictToAnyTerm(const std::vector<framework::CompiledTerm>& terms, const framework::Attempt& attempt,
                       RowSet& rows);

}  // namespace berth::plugins
