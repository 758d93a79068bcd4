// Writes decoded objects as JSON.
#pragma once

#include <string>

#include "kubernetes/api/objects.hpp"

namespace berth::api {

// Appends an object of any kind of objects.hpp in the API server's form, with kind and apiVersion: the fields
// that a Decoder retains and no others, so that a Decoder gives an equal object. Fields with default values
// are left out. Two parts differ: the text of an object (RetainedTexts) is not written; and the annotations
// of a node, of which a decoder retains a digest, become one annotation with this digest, so that equal and
// different annotations stay equal and different. The order of members is fixed. A PodGroup must not be one
// of another project (PodGroup::external).
template <class T>
void AppendJson(std::string& out, const T& object);

}  // namespace berth::api
