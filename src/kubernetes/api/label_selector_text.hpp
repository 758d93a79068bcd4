// Label selectors as text, as in the query of a list: "app=web,tier in (a,b),!canary".
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kubernetes/api/label_selector.hpp"

namespace berth::api {

// labels.Parse of k8s.io/apimachinery, with its errors; also accepts "size>3" and "size<3". Empty text
// matches everything. `!=` and `notin` match objects without the key.
Expected<ParsedSelector> ParseLabelSelectorText(std::string_view text);

// The inverse. A requirement with one permitted value is written "key=value". Empty if the selector matches
// everything; it must not be one that matches nothing.
std::string LabelSelectorText(const ParsedSelector& selector);

}  // namespace berth::api
