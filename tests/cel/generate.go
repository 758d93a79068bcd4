package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// A generator of expressions with known types, so that most of them compile.
type generator struct {
	*rand.Rand
	variables []variable // of enclosing comprehensions
}

type variable struct{ name, kind string }

var kinds = []string{
	"bool", "int", "uint", "double", "string", "bytes", "list(int)", "list(string)", "map", "duration", "timestamp",
	"quantity", "semver", "ip", "cidr", "url", "optional(int)", "dyn", "type", "null",
}

func randomCase(seed int64) named {
	g := &generator{Rand: rand.New(rand.NewSource(seed))}
	kind := "bool"
	if g.Intn(3) == 0 {
		kind = kinds[g.Intn(len(kinds))]
	}
	expression := g.expr(kind, 1+g.Intn(5))
	if g.Intn(8) == 0 {
		expression = g.mutate(expression)
	}
	r := request{Expression: expression, Device: g.device()}
	if g.Intn(10) == 0 {
		r.Limit = uint64(1 + g.Intn(60))
	}
	return named{"seed " + strconv.FormatInt(seed, 10), r}
}

func (g *generator) device() device {
	d := device{Driver: "gpu.example.com", Multiple: g.Intn(2) == 0, Attributes: map[string]attribute{}, Capacity: map[string]string{}}
	for _, name := range []string{"model", "index", "healthy", "ver", "links", "other.org/index", "other.org/model"} {
		if g.Intn(3) == 0 {
			continue
		}
		switch g.Intn(9) {
		case 0:
			d.Attributes[name] = attribute{"int": g.Intn(10) - 3}
		case 1:
			d.Attributes[name] = attribute{"bool": g.Intn(2) == 0}
		case 2, 3:
			d.Attributes[name] = attribute{"string": g.plain()}
		case 4:
			d.Attributes[name] = attribute{"version": g.pick("1.2.3", "2.0.0-rc.1", "0.1.0+b", "1.02.3")}
		case 5:
			d.Attributes[name] = attribute{"ints": []int{1, g.Intn(5)}}
		case 6:
			d.Attributes[name] = attribute{"strings": []string{g.plain(), "b"}}
		case 7:
			d.Attributes[name] = attribute{"versions": []string{"1.0.0"}}
		case 8:
			d.Attributes[name] = attribute{"bools": []bool{true, false}}
		}
	}
	for _, name := range []string{"memory", "cores", "other.org/slots"} {
		if g.Intn(3) != 0 {
			d.Capacity[name] = g.pick("40Gi", "1500m", "8", "1.5Gi", "0", "100k", "0.1", "-4")
		}
	}
	return d
}

func (g *generator) pick(choices ...string) string { return choices[g.Intn(len(choices))] }

func (g *generator) plain() string {
	return g.pick("", "a", "A100", "abc", "n1", "ab ab", "été", "1.5", "日本語", "x-y_z.w", "Zz", "10.0.0.1")
}

func (g *generator) str() string {
	switch g.Intn(12) {
	case 0:
		return g.pick(`'\n\t'`, `r'\d+'`, `"""a"b"""`, `'\u00e9\x41\101'`, `"\U0001F431"`, `'''multi'''`, `'%s'`, `'12'`, `'-7'`)
	case 1:
		return g.pick(`'1h30m'`, `'1.5s'`, `'2024-02-29T12:30:45.123Z'`, `'1970-01-01T00:00:00+01:30'`, `'true'`, `'3.25'`, `'NaN'`)
	case 2:
		return g.pick(`'1.2.3'`, `'v1.02'`, `'1.0.0-rc.1+x'`, `'40Gi'`, `'10.0.0.0/8'`, `'::1'`, `'fe80::/10'`, `'192.168.0.1'`)
	case 3:
		return g.pick(`'https://user:pw@example.com:8080/p%20a?x=1&x=2&y#frag'`, `'/path?q'`, `'mailto:a@b'`, `'http://[::1]:80/'`, `':bad'`)
	default:
		return strconv.Quote(g.plain())
	}
}

func (g *generator) name() string {
	return g.pick("model", "index", "healthy", "ver", "links", "missing")
}

func (g *generator) domain() string {
	return g.pick(`"gpu.example.com"`, `"gpu.example.com"`, `"other.org"`, `"unknown"`)
}

// An expression that reads the device.
func (g *generator) attribute() string {
	path := "device.attributes[" + g.domain() + "]"
	switch g.Intn(6) {
	case 0:
		return path + `["` + g.name() + `"]`
	case 1:
		return path + ".?" + g.name() + ".orValue(" + g.pick("1", `"A100"`, "true") + ")"
	case 2:
		return path + `[?"` + g.name() + `"].orValue("x")`
	default:
		return path + "." + g.name()
	}
}

func (g *generator) capacity() string {
	return "device.capacity[" + g.domain() + "]." + g.pick("memory", "cores", "slots", "missing")
}

// An expression of a kind.
func (g *generator) expr(kind string, depth int) string {
	for _, v := range g.variables {
		if v.kind == kind && g.Intn(3) == 0 {
			return v.name
		}
	}
	if depth <= 0 {
		return g.leaf(kind)
	}
	e := func(k string) string { return g.expr(k, depth-1) }
	// Forms for every kind.
	switch g.Intn(16) {
	case 0:
		return "(" + e("bool") + " ? " + e(kind) + " : " + e(kind) + ")"
	case 1:
		if kind != "dyn" && kind != "null" {
			return "[" + e(kind) + ", " + e(kind) + "][" + g.pick("0", "1", "2", e("int")) + "]"
		}
	case 2:
		if kind != "dyn" && kind != "null" {
			return "{" + e("string") + ": " + e(kind) + "}[" + e("string") + "]"
		}
	case 3:
		name := g.pick("b", "c", "x")
		init := g.pick("int", "string", "list(int)", "bool")
		bound := e(init)
		return "cel.bind(" + name + ", " + bound + ", " + g.with(name, init, kind, depth-1) + ")"
	case 4:
		if kind != "dyn" && kind != "null" {
			return g.pick("optional.of("+e(kind)+").value()", "optional.of("+e(kind)+").orValue("+e(kind)+")", "optional.none().orValue("+e(kind)+")",
				"{'k': "+e(kind)+"}.?"+g.pick("k", "j")+".orValue("+e(kind)+")", "["+e(kind)+"][?"+e("int")+"].orValue("+e(kind)+")",
				"optional.ofNonZeroValue("+e(kind)+").orValue("+e(kind)+")", "["+e(kind)+"].first().value()", "["+e(kind)+"].last().value()")
		}
	}
	switch kind {
	case "bool":
		return g.boolean(depth)
	case "int":
		switch g.Intn(19) {
		case 0:
			return "size(" + e(g.pick("string", "bytes", "list(int)", "map")) + ")"
		case 1:
			return e(g.pick("string", "bytes", "list(int)")) + ".size()"
		case 2:
			return "int(" + e(g.pick("double", "uint", "string", "duration", "timestamp", "int")) + ")"
		case 3:
			return "-" + "(" + e("int") + ")"
		case 4:
			return e("string") + "." + g.pick("indexOf", "lastIndexOf") + "(" + e("string") + g.pick("", ", "+e("int")) + ")"
		case 5:
			return e("list(int)") + "." + g.pick("sum()", "min()", "max()", "indexOf("+e("int")+")", "lastIndexOf("+e("int")+")")
		case 6:
			return e("quantity") + "." + g.pick("compareTo("+e("quantity")+")", "asInteger()")
		case 7:
			return g.pick("sign("+e("quantity")+")", e("semver")+"."+g.pick("major()", "minor()", "patch()", "compareTo("+e("semver")+")"))
		case 8:
			return e("timestamp") + "." + g.pick("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours",
				"getMinutes", "getSeconds", "getMilliseconds") + g.pick("()", "()", "('-08:00')", "('02:30')", "('UTC')", "('x:1')", "('America/St_Johns')", "('Europe/Berlin')", "('No/Where')")
		case 9:
			return e("duration") + "." + g.pick("getHours()", "getMinutes()", "getSeconds()", "getMilliseconds()")
		case 10:
			return g.pick(e("ip")+".family()", e("cidr")+".prefixLength()")
		default:
			return e("int") + g.pick(" + ", " - ", " * ", " / ", " % ") + e("int")
		}
	case "uint":
		if g.Intn(3) == 0 {
			return "uint(" + e(g.pick("double", "int", "string", "uint")) + ")"
		}
		return e("uint") + g.pick(" + ", " - ", " * ", " / ", " % ") + e("uint")
	case "double":
		if g.Intn(3) == 0 {
			return g.pick("double("+e(g.pick("int", "uint", "string", "double"))+")", e("quantity")+".asApproximateFloat()", "-("+e("double")+")")
		}
		return e("double") + g.pick(" + ", " - ", " * ", " / ") + e("double")
	case "string":
		switch g.Intn(14) {
		case 0:
			return "string(" + e(g.pick("int", "uint", "double", "bool", "bytes", "duration", "timestamp", "string", "ip", "cidr")) + ")"
		case 1:
			return e("string") + "." + g.pick("lowerAscii()", "upperAscii()", "trim()", "charAt("+e("int")+")")
		case 2:
			return e("string") + ".replace(" + e("string") + ", " + e("string") + g.pick("", ", "+e("int")) + ")"
		case 3:
			return e("string") + ".substring(" + e("int") + g.pick("", ", "+e("int")) + ")"
		case 4:
			return e("list(string)") + ".join(" + g.pick("", e("string")) + ")"
		case 5:
			return e("string") + ".find(" + g.pattern() + ")"
		case 6:
			return g.pick("'%d'.format(["+e("int")+"])", "'%s|%s'.format(["+e(g.pick("string", "int", "double", "list(int)", "map", "duration", "type"))+", "+e("string")+"])",
				"'%.2f %e'.format(["+e("double")+", "+e("double")+"])", "'%.0f%.16e'.format(["+e("double")+", "+e("double")+"])", "'%x %X %o %b'.format(["+e("int")+", "+e("string")+", "+e("uint")+", "+e("bool")+"])",
				e("string")+".format(["+e("dyn")+"])", "'%s'.format(["+e("dyn")+"])", "'%d%%'.format([dyn("+e("string")+")])")
		case 7:
			return "strings.quote(" + e("string") + ")"
		case 8:
			return e("url") + "." + g.pick("getScheme()", "getHost()", "getHostname()", "getPort()", "getEscapedPath()")
		case 9:
			return e("list(string)") + "[" + e("int") + "]"
		case 10:
			return "device.driver"
		default:
			return e("string") + " + " + e("string")
		}
	case "bytes":
		return g.pick("bytes("+e("string")+")", e("bytes")+" + "+e("bytes"))
	case "list(int)", "list(string)":
		return g.list(kind, depth)
	case "map":
		switch g.Intn(5) {
		case 0:
			return e("list(int)") + ".transformMap(i, v, " + g.with("i", "int", "int", depth-1) + ")"
		case 1:
			return e("list(int)") + ".transformMapEntry(i, v, {string(i): v})"
		case 2:
			return "{" + e("string") + ": " + e("int") + ", ?" + e("string") + ": " + e("optional(int)") + "}"
		default:
			return "{" + e("string") + ": " + e("int") + g.pick("", ", "+e("string")+": "+e("int")) + "}"
		}
	case "duration":
		return g.pick("duration("+g.pick(`'1h'`, `'-1.5s'`, `'2m3.25s'`, `'1h1m1s1ms1us1ns'`, `''`, `'x'`, `'1d'`, e("string"))+")", e("duration")+g.pick(" + ", " - ")+e("duration"),
			e("timestamp")+" - "+e("timestamp"))
	case "timestamp":
		return g.pick("timestamp("+g.pick(`'2024-02-29T12:30:45.123Z'`, `'1970-01-01T00:00:00+01:30'`, `'0001-01-01T00:00:00Z'`, `'9999-12-31T23:59:59Z'`, `'x'`, e("int"))+")",
			e("timestamp")+g.pick(" + ", " - ")+e("duration"), e("duration")+" + "+e("timestamp"))
	case "quantity":
		return g.pick("quantity("+g.pick(`'40Gi'`, `'1500m'`, `'1.5Gi'`, `'10'`, `'1k'`, `'x'`, e("string"))+")", e("quantity")+g.pick(".add(", ".sub(")+e(g.pick("quantity", "int"))+")", g.capacity())
	case "semver":
		return g.pick("semver("+g.pick(`'1.2.3'`, `'1.0.0-alpha.1'`, `'01.0.0'`, e("string"))+")", "semver("+g.pick(`'v1.2'`, `'1'`, `'v01.2.3-x'`, e("string"))+", "+e("bool")+")")
	case "ip":
		return g.pick("ip("+g.pick(`'10.1.2.3'`, `'::1'`, `'fe80::1%eth0'`, `'::ffff:1.2.3.4'`, `'2001:db8:0:0:1::'`, `'1.2.3'`, e("string"))+")", e("cidr")+".ip()")
	case "cidr":
		return g.pick("cidr("+g.pick(`'10.0.0.0/8'`, `'192.168.1.7/24'`, `'fe80::/10'`, `'1.2.3.4/33'`, `'0.0.0.0/0'`, e("string"))+")", e("cidr")+".masked()")
	case "url":
		return "url(" + g.str() + ")"
	case "optional(int)":
		return g.pick("optional.of("+e("int")+")", "optional.none()", "optional.ofNonZeroValue("+e("int")+")", e("list(int)")+"[?"+e("int")+"]", e("map")+".?a",
			e("optional(int)")+".or("+e("optional(int)")+")", e("optional(int)")+".optMap(o, "+g.with("o", "int", "int", depth-1)+")",
			e("optional(int)")+".optFlatMap(o, "+g.with("o", "int", "optional(int)", depth-1)+")", e("list(int)")+".first()", e("list(int)")+".last()")
	case "dyn":
		return g.pick(g.attribute(), g.attribute(), "dyn("+e(kinds[g.Intn(len(kinds))])+")")
	case "type":
		return "type(" + e(kinds[g.Intn(len(kinds))]) + ")"
	}
	return g.leaf(kind)
}

// An expression with a variable.
func (g *generator) with(name, kind, result string, depth int) string {
	g.variables = append(g.variables, variable{name, kind})
	text := g.expr(result, depth)
	g.variables = g.variables[:len(g.variables)-1]
	return text
}

func (g *generator) pattern() string {
	return g.pick(`'[a-z]+'`, `r'\d+'`, `'^a.*b$'`, `'(a|b)*'`, `'x{2,3}'`, `'('`, `'[z-a]'`, `'a**'`, `'\\pL'`, `'(?P<n>a)'`, `'(?i)ABC'`, `''`, g.str())
}

func (g *generator) boolean(depth int) string {
	e := func(k string) string { return g.expr(k, depth-1) }
	switch g.Intn(22) {
	case 0, 1:
		return e("bool") + g.pick(" && ", " || ") + e("bool") + g.pick("", g.pick(" && ", " || ")+e("bool"))
	case 2:
		return "!(" + e("bool") + ")"
	case 3, 4:
		kind := kinds[g.Intn(len(kinds))]
		return e(kind) + g.pick(" == ", " != ") + e(kind)
	case 5, 6:
		kind := g.pick("int", "uint", "double", "string", "bytes", "duration", "timestamp", "bool")
		return e(kind) + g.pick(" < ", " <= ", " > ", " >= ") + e(kind)
	case 7:
		return e(g.pick("int", "uint", "double")) + g.pick(" < ", " <= ", " > ", " >= ") + e(g.pick("int", "uint", "double"))
	case 8:
		return e("string") + "." + g.pick("startsWith", "endsWith", "contains") + "(" + e("string") + ")"
	case 9:
		return g.pick(e("string")+".matches("+g.pattern()+")", "matches("+e("string")+", "+g.pattern()+")")
	case 10:
		return g.pick(e("int")+" in "+e("list(int)"), e("string")+" in "+e("map"), e("string")+" in "+e("list(string)"), e("dyn")+" in [1, 2, 3]",
			e("dyn")+" in ['A100', 'x']", e("dyn")+" in [1.0, 2.5]", e("int")+" in [1, 2]", e("string")+" in device.attributes")
	case 11:
		macro := g.pick("all", "exists", "exists_one", "existsOne")
		return e("list(int)") + "." + macro + "(v, " + g.with("v", "int", "bool", depth-1) + ")"
	case 12:
		macro := g.pick("all", "exists", "existsOne")
		return e("list(string)") + "." + macro + "(i, w, " + g.with("w", "string", "bool", depth-1) + ")"
	case 13:
		return g.pick("has(device.attributes["+g.domain()+"]."+g.name()+")", "has(device.capacity["+g.domain()+"].memory)", "has({'a': "+e("int")+"}.a)", "has("+e("map")+".a)",
			"has(device.attributes["+g.domain()+"].?"+g.name()+".x)")
	case 14:
		return g.attribute() + g.pick(" == ", " != ", " > ", " <= ") + g.pick(e("string"), e("int"), e("semver"), e("dyn"))
	case 15:
		return g.capacity() + "." + g.pick("isGreaterThan", "isLessThan") + "(" + e("quantity") + ")"
	case 16:
		return g.capacity() + ".compareTo(" + e("quantity") + ") >= 0"
	case 17:
		return g.pick("isQuantity(", "isSemver(", "isIP(", "isCIDR(", "isURL(", "ip.isCanonical(") + e("string") + ")"
	case 18:
		return g.pick(e("cidr")+".containsIP("+e(g.pick("ip", "string"))+")", e("cidr")+".containsCIDR("+e(g.pick("cidr", "string"))+")",
			e("ip")+"."+g.pick("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")+"()")
	case 19:
		return g.pick(e("list(int)")+".isSorted()", "sets."+g.pick("contains", "equivalent", "intersects")+"("+e("list(int)")+", "+e("list(int)")+")",
			e("list(int)")+".includes("+e("dyn")+")", e("dyn")+".includes("+e("int")+")", e("dyn")+".all(x, x == "+e("dyn")+")")
	case 20:
		return g.pick("format."+g.pick("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri", "uuid", "byte", "date", "datetime", "dns1123LabelPrefix")+
			"().validate("+e("string")+").hasValue()", "bool("+e("string")+")", e("optional(int)")+".hasValue()", e("semver")+"."+g.pick("isLessThan", "isGreaterThan")+"("+e("semver")+")",
			e("quantity")+".isInteger()", "device.allowMultipleAllocations", "device.driver == "+e("string"), "device == device")
	default:
		return e("dyn")
	}
}

func (g *generator) list(kind string, depth int) string {
	e := func(k string) string { return g.expr(k, depth-1) }
	element := strings.TrimSuffix(strings.TrimPrefix(kind, "list("), ")")
	switch g.Intn(14) {
	case 0:
		return e(kind) + " + " + e(kind)
	case 1:
		from := g.pick("list(int)", "list(string)")
		return e(from) + ".map(m, " + g.with("m", strings.TrimSuffix(strings.TrimPrefix(from, "list("), ")"), element, depth-1) + ")"
	case 2:
		return e("list(int)") + ".map(m, " + g.with("m", "int", "bool", depth-1) + ", " + g.with("m", "int", element, depth-1) + ")"
	case 3:
		return e(kind) + ".filter(f, " + g.with("f", element, "bool", depth-1) + ")"
	case 4:
		return e(kind) + ".transformList(i, v, " + g.with("v", element, element, depth-1) + ")"
	case 5:
		return e(kind) + "." + g.pick("reverse()", "distinct()", "sort()", "slice("+e("int")+", "+e("int")+")", "sortBy(s, "+g.with("s", element, "int", depth-1)+")")
	case 6:
		return "[" + e(kind) + ", " + e(kind) + "].flatten()"
	case 7:
		if element == "string" {
			return g.pick(e("string")+".split("+e("string")+g.pick("", ", "+e("int"))+")", e("string")+".findAll("+g.pattern()+g.pick("", ", "+e("int"))+")")
		}
		return "lists.range(" + g.pick("0", "3", "10", e("int")) + ")"
	case 8:
		if element == "int" {
			return "[?" + e("optional(int)") + ", " + e("int") + "]"
		}
	}
	var elements []string
	for range g.Intn(4) {
		elements = append(elements, e(element))
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

func (g *generator) leaf(kind string) string {
	switch kind {
	case "bool":
		return g.pick("true", "false", "device.allowMultipleAllocations")
	case "int":
		return g.pick("0", "1", "2", "-1", "7", "0x1F", "9223372036854775807", "-9223372036854775808", "3")
	case "uint":
		return g.pick("0u", "1u", "42u", "18446744073709551615u")
	case "double":
		return g.pick("0.0", "1.5", "-2.25", "1e20", "3.0", "1e-7", "123456.789")
	case "string":
		return g.str()
	case "bytes":
		return g.pick("b''", "b'abc'", `b'\xff\x00'`, `b"é"`)
	case "list(int)":
		return g.pick("[]", "[1]", "[3, 1, 2]", "[1, 1]")
	case "list(string)":
		return g.pick("[]", "['a']", "['b', 'a', 'b']")
	case "map":
		return g.pick("{}", "{'a': 1}", "{'A100': 2}")
	case "duration":
		return g.pick("duration('1h')", "duration('-1.5s')")
	case "timestamp":
		return "timestamp('2024-02-29T12:30:45.123Z')"
	case "quantity":
		return g.pick("quantity('1Gi')", "quantity('500m')")
	case "semver":
		return "semver('1.2.3')"
	case "ip":
		return "ip('10.0.0.1')"
	case "cidr":
		return "cidr('10.0.0.0/8')"
	case "url":
		return "url('https://example.com/a?b=c')"
	case "optional(int)":
		return g.pick("optional.none()", "optional.of(4)")
	case "type":
		return g.pick("int", "string", "list", "map", "type", "bool", "google.protobuf.Timestamp", "net.IP", "optional_type", "null_type")
	case "null":
		return "null"
	}
	return g.attribute()
}

// A damaged expression.
func (g *generator) mutate(expression string) string {
	runes := []rune(expression)
	for range 1 + g.Intn(2) {
		if len(runes) == 0 {
			break
		}
		at := g.Intn(len(runes))
		switch g.Intn(5) {
		case 0:
			runes = append(runes[:at:at], runes[at+1:]...)
		case 1:
			insert := g.pick("x", ".", "(", ")", "1", "'", " in ", "!", "-", "?", "dyn(", "u", "[", ",", "@", "\n", "é", "`a-b`", "true")
			runes = append(runes[:at:at], append([]rune(insert), runes[at:]...)...)
		case 2:
			end := min(len(runes), at+1+g.Intn(6))
			runes = append(runes[:end:end], runes[at:]...)
		case 3:
			end := min(len(runes), at+1+g.Intn(8))
			runes = append(runes[:at:at], runes[end:]...)
		case 4:
			text := string(runes)
			pairs := [][2]string{{"int", "uint"}, {"'", "b'"}, {"size", "sise"}, {"1", "1u"}, {"device", "devise"}, {"==", "<"}, {".all(", ".map("}, {"[", "[?"}, {"a", "1.5"}}
			pair := pairs[g.Intn(len(pairs))]
			runes = []rune(strings.Replace(text, pair[0], pair[1], 1))
		}
	}
	return fmt.Sprint(string(runes))
}
