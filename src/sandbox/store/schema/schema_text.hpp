// The types of Kubernetes v1.37 as text, one message after the other:
//
//   Name|<number><field>:<type> <number><field>:<type> ...
//
// A line that begins with a space continues the message above. Types: s string, i int32, l int64, b boolean,
// d floating point, B bytes, t metav1.Time, T metav1.MicroTime, q resource.Quantity, I IntOrString, D
// metav1.Duration, o any value, or the name of a message. ^ without a field name: the members of that message
// appear as members of this one (Go's inlined structs). If two groups have a message of the same name, it is
// written <group>.<name>.
//
// Before a type: [] a list that is replaced as a whole, [=] a list that is a set, [a,b] a list whose elements
// are identified by their members a and b; {} a map from strings, {!} one that is replaced as a whole. After
// a type: = a struct that is always present (in Go a value, not a pointer), ! replaced as a whole here, ?
// zero is a value, not "unset" (a pointer in Go). After the name of a message: ! its values are replaced as a
// whole everywhere.
#pragma once

#include <string_view>

namespace berth::sandbox {

std::string_view CoreSchemaText();
std::string_view GroupSchemaText();

}  // namespace berth::sandbox
