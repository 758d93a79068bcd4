package yaml

var scalars = []string{
	// booleans
	"y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "true", "True", "TRUE",
	"tRUE", "false", "False", "FALSE", "t", "f", "1", "0",
	// null
	"", "~", "null", "Null", "NULL", "nULL", "none", "nil",
	// integers
	"+1", "-1", "+0", "-0", "007", "07", "08", "09", "0o7", "0O7", "0o8", "-0o7", "+0o7", "-07", "0b11", "0B11", "-0b11", "0b2", "0x1F", "0X1f",
	"-0x1F", "+0x1f", "0xg", "0x", "0b", "0o", "1_000", "1__0", "_1", "1_", "0x1_0", "0_7", "0b1_1", "-_1", "+", "-", "- 1", "1 000", "--1", "+-1",
	"12:30", "12:30:45", "1:2", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "0xffffffffffffffff", "0x10000000000000000", "99999999999999999999999999",
	"123456789012345678901234567890123456789012345678901234567890", "00000000000000000000000000000001",
	"1234567890123456789012345678901234567890123456789012345678901234567890",
	"0.1234567890123456789012345678901234567890123456789012345678901234567890",
	// floats
	"1.0", "1.", ".5", "-.5", "+.5", "1.5", "1.50", "1e3", "1E3", "1e+3", "1e-3", "1.5e3", "1e", "1e+", ".e3", "e3", "1e1000", "-1e1000", "1e400", "1e308", "1e-400",
	"5e-324", "1e20", "1e21", "1e22", "123456789012345680000", "1234567890123456789.5", "1e-6", "1e-7", "0.000001", "0.0000001", "1_0.5", "1.5_0", "0.1", "-0.0", "0.0",
	"100.0", "3.14159", "1.7976931348623157e308", "1.8e308", "0x1p3", "0x1.8p1", "1_e3", "685.230_15e+03", "190:20:30.15",
	".inf", ".Inf", ".INF", ".iNf", "+.inf", "-.inf", "inf", "-inf", "Infinity", ".nan", ".NaN", ".NAN", "-.nan", "nan", "NaN", ".", "..", "1.2.3", "1.2.3.4",
	// dates
	"2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "2001-12-15 2:59:43.10", "2001-1-1", "2001-13-41", "20:30:00",
	"2006-01-02T15:04:05Z", "10-10",
	// words and units
	"100m", "1Gi", "1k", "1h30m", "word", "two words", "a:b", "a#b", "a #b", "é", "日本", "a\\nb", "=", "<<", "<", "a<b>&c", "%", "@", "`", "&", "*", "!",
	"? a", "- a", ": a", "a: b", "|", ">", "[", "]", "{", "}", "[]", "{}", "[a, b", "{a: b}", "{a}", "{a: }", "{a, b: c}", "[a: b]", "[,]", "[a,]",
	// quotes
	"'1'", `"1"`, "'yes'", `"true"`, "''", `""`, "'it''s'", `"a\nb"`, `"\x41"`, `"\u00e9"`, `"\U0001F600"`, `"\e"`, `"\/"`, `"\q"`, "'a\\nb'", `"open`, "'open", `"a"b`, `"\ud83d"`,
	// tags
	"!!str 1", "!!int 1", "!!int '1'", "!!float 1", "!!float '1.5'", "!!bool 'yes'", "!!bool yes", "!!null ''", "!!null x", "!!int x", "!!bool x", "!!str yes",
	"!foo 1", "!foo bar", "! 1", "! yes", "!!binary aGVsbG8=", "!!binary '?'", "!!binary /w==", "!!timestamp 2001-12-14", "!!map {a: 1}", "!!seq [1]", "!!set {a}",
	"!<tag:yaml.org,2002:str> 1", "!!unknown 1",
}

var keys = []string{
	"1", "01", "0x10", "1_0", "1.5", "1.0", "1e3", "1e30", "true", "yes", "y", "no", "null", "~", "''", "'1'", "!!str 1", "! 1", ".inf", ".nan", "-.inf", "-1", "-0", "18446744073709551615",
	"99999999999999999999", "2001-12-14", "[a]", "{a: b}", "? a", "? [a]", "!!int '1'", "&x a", "a b", "é", "0.1", "1e-7", "123456789.5",
}

var documents = []string{
	"", " ", "\n", "# comment\n", "---\n", "---\n---\n", "...\n", "--- a\n", "--- a\n--- b\n", "a: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "---\na: 1\n...\n", "--- \na: 1\n---\nb: [\n", "%YAML 1.1\n---\na: 1\n",
	"%YAML 1.2\n---\na: yes\n", "%YAML 3.0\n---\na: 1\n", "%TAG ! tag:example.com,2000:\n---\na: !x 1\n", "%FOO\n---\na: 1\n", "a: 1\n%b\n",
	"a\n", "5\n", "[a]\n", "hello: world\n", "{\"a\": 1}\n", "{\"a\": 1, \"b\": [true, null]}\n", "{\"a\":1}\n", "{a: 1,\n b: 2}\n", "{\"a\": 1} x\n", "{\"a\": 1}\n{\"b\": 2}\n", "\"a\"\n",
	// byte order marks and encodings
	"\ufeffa: 1\n", "a: \ufeffb\n", "a: 1\n\ufeffb: 2\n", "a: \u00a0b\n", "a: \u2028b\n", "a: \u0085b\n", "a: \u0007\n", "a: \x7f\n", "a: b\r\nc: d\r\n", "a: b\rc: d\r", "a: \"\u2028\"\n",
	// white space
	"\ta: 1\n", "a:\n\tb: 1\n", "a:\n\t- b\n", "a: \tb\n", "a:\tb\n", "a: b\t\n", "a: b\t# c\n", "a: [\tb,\tc]\n", "- \ta\n", "-\ta\n", "a:  1\n", "a : 1\n", " a: 1\n b: 2\n", " a: 1\nb: 2\n", "a:\n b: 1\n  c: 2\n",
	"a: 1\n  b: 2\n", "a:\n- b\n- c\n", "a:\n  - b\n - c\n", "- a\n-b\n", "- - a\n  - b\n- c\n", "-\n  a: 1\n", "- a: 1\n  b: 2\n", "a:1\n", "a:\n", "a:\nb:\n", "a: b: c\n", "a: 'b': c\n", "? a\n: b\n", "? a\n", "?\n", ":\n", ": a\n", "a: - b\n",
	// blocks
	"a: |\n  x\n  y\n", "a: |-\n  x\n", "a: |+\n  x\n\n", "a: >\n  x\n  y\n\n  z\n", "a: >-\n  x\n  y\n", "a: |2\n    x\n", "a: |\n", "a: |\n\n  x\n", "a: |\n  x\n y\n", "a: |\n   x\n  y\n", "a: |\n\tx\n", "a: >\n  x\n    y\n  z\n", "a: | # c\n  x\n",
	"a: |9\n x\n", "a: |0\n x\n", "a: |-2\n  x\n", "a: b\n c\n", "a: b\n\n c\n", "a: 'b\n  c'\n", "a: \"b\\\n  c\"\n", "a: \"b\n\n  c\"\n", "a: b # c\n", "a: b#c\n", "a: 'b' # c\n", "a: 'b'# c\n", "a: |\n  x # y\n",
	// anchors, aliases, merge keys
	"a: &x 1\nb: *x\n", "a: &x [1]\nb: *x\n", "a: &x {c: 1}\nb: *x\n", "a: *x\n", "a: &x 1\nb: &x 2\nc: *x\n", "a: &x\n  b: *x\n", "&x a: *x\n", "a: &x\nb: *x\n", "a: &x-y.z 1\nb: *x-y.z\n", "a: & 1\n", "*x : 1\n", "&x k: 1\n*x : 2\n",
	"a: &x {c: 1, d: 2}\nb: {<<: *x, c: 3}\n", "a: &x {c: 1, d: 2}\nb: {c: 3, <<: *x}\n", "a: &x {c: 1}\nb: &y {d: 2}\ne: {<<: [*x, *y]}\n", "a: &x {c: 1}\nb: &y {c: 2}\ne: {<<: [*x, *y]}\n", "a: &x {c: 1}\nb: &y {c: 2}\ne: {<<: [*y, *x], z: 1}\n",
	"a: &x {c: 1}\nb: {<<: *x, <<: *x}\n", "a: {<<: 1}\n", "a: {<<: [1]}\n", "a: {<<: {b: 1}}\n", "a: {<<: null}\n", "a: {'<<': 1}\n", "a: {\"<<\": {b: 1}}\n", "a: {!!merge <<: {b: 1}}\n", "a: {<<: [[{b: 1}]]}\n", "a: &x {<<: {b: 1}}\nc: {<<: *x, d: 2}\n",
	"a: &x {1: b, true: c}\nd: {<<: *x}\n", "<<: {a: 1}\nb: 2\n", "a: &x {c: 1}\nb: {<<: [*x, {d: 1}], e: 1}\n", "a: {<<: {b: 1}, b: 2, b: 3}\n", "- <<\n", "a: {<<: []}\n", "a: {<<: {}}\n", "a: {c: 1, <<: {c: 2, d: {e: 1}}}\n",
	// equal keys; not those that become equal in JSON (1 and '1'): which one counts is random in Go
	"a: 1\na: 2\n", "a: 1\nb: 2\na: 3\nb: 4\n", "a: {b: 1, b: 2}\n", "1: a\n01: b\n", "true: a\nyes: b\n", "a: 1\n'a': 2\n", "- {a: 1, a: 1}\n- {a: 1, a: 1}\n", "a: &x {b: 1, b: 2}\nc: *x\n",
	"a:\n  b: 1\na:\n  c: 2\n",
	// flow collections
	"a: [1, 2\n", "a: [1, 2]]\n", "a: {b: 1\n", "a: [1,, 2]\n", "a: [1 2]\n", "a: {b: [c, {d: e}]}\n", "a: [\n1,\n2\n]\n", "a: {b:1}\n", "a: {\"b\":1}\n", "a: [b:1]\n", "a: [\"b\":1]\n", "a: {b, c}\n", "a: {? b : c}\n", "a: [? b : c]\n", "a: {: c}\n", "a: [-1, -a, - b]\n", "a: [a, #b\n c]\n", "{}\n", "[]\n", "{a: b, }\n", "[a:]\n", "{a: b}: c\n",
}

// The texts in the order of the file: each scalar as a value and as an item, each key, the documents.
func table() []string {
	var texts []string
	for _, scalar := range scalars {
		texts = append(texts, "k: "+scalar+"\n")
		texts = append(texts, "- "+scalar+"\n")
	}
	for _, key := range keys {
		texts = append(texts, key+": v\n")
	}
	texts = append(texts, documents...)
	return texts
}
