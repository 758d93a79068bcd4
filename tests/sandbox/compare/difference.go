package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// compare returns the differences of the sandbox's response.
func compare(r request, reference, berth *response) []string {
	var found []string
	if reference.status != berth.status {
		found = append(found, fmt.Sprintf("HTTP status: %d, not %d", berth.status, reference.status))
	}
	if r.only == "code" {
		return found
	}
	found = append(found, contentDifferences(r, reference, berth)...)
	if r.differs == "" {
		return found
	}
	if len(found) == 0 {
		return []string{"expected a difference: " + r.differs}
	}
	return nil
}

func contentDifferences(r request, reference, berth *response) []string {
	var found []string
	if !slices.Equal(reference.warnings, berth.warnings) {
		found = append(found, fmt.Sprintf("warnings: %q, not %q", berth.warnings, reference.warnings))
	}
	var referenceBody, berthBody any
	referenceJSON, berthJSON := json.Unmarshal(reference.body, &referenceBody), json.Unmarshal(berth.body, &berthBody)
	if referenceJSON != nil || berthJSON != nil {
		if string(reference.body) != string(berth.body) {
			found = append(found, fmt.Sprintf("body: %q, not %q", clip(string(berth.body)), clip(string(reference.body))))
		}
		return found
	}
	referenceBody, berthBody = normal(referenceBody, ""), normal(berthBody, "")
	for _, path := range strings.Split(r.without, ",") {
		referenceBody, berthBody = cut(referenceBody, path), cut(berthBody, path)
	}
	if r.only == "message" {
		r.only = "kind,status,message,reason,details,code"
	}
	if r.only == "" {
		return append(found, differ(referenceBody, berthBody, "")...)
	}
	for _, path := range strings.Split(r.only, ",") {
		found = append(found, differ(at(referenceBody, path), at(berthBody, path), path)...)
	}
	return found
}

func clip(text string) string {
	if len(text) > 300 {
		return text[:300] + "..."
	}
	return text
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	versions = regexp.MustCompile(`(ResourceVersion in object meta: |ResourceVersion in record \(|current: |resource version: )\d+`)
	ages     = regexp.MustCompile(`^\d+s$`)
	suffixes = regexp.MustCompile(`generated-[a-z0-9]{5}`)
)

// normal replaces values that differ between any two servers: identities, versions, times.
func normal(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		// The admission plugin that sets them is off, because no controller creates service accounts.
		delete(v, "serviceAccountName")
		delete(v, "serviceAccount")
		for k, member := range v {
			v[k] = normal(member, k)
		}
		// The order of managers within one second is undefined.
		if list, ok := v["managedFields"].([]any); ok {
			sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i], "")
		}
	case string:
		if key == "resourceVersion" || key == "continue" {
			if v == "" {
				return ""
			}
			return "(" + key + ")"
		}
		v = uuids.ReplaceAllString(v, "(uid)")
		v = times.ReplaceAllString(v, "(time)")
		v = versions.ReplaceAllString(v, "$1(version)")
		v = suffixes.ReplaceAllString(v, "generated-(suffix)")
		return ages.ReplaceAllString(v, "(age)")
	}
	return value
}

func differ(referenceBody, berthBody any, path string) []string {
	referenceMap, referenceIsMap := referenceBody.(map[string]any)
	berthMap, berthIsMap := berthBody.(map[string]any)
	if referenceIsMap && berthIsMap {
		keys := map[string]bool{}
		for k := range referenceMap {
			keys[k] = true
		}
		for k := range berthMap {
			keys[k] = true
		}
		var found []string
		for _, k := range sortedKeys(keys) {
			found = append(found, differ(referenceMap[k], berthMap[k], strings.TrimPrefix(path+"."+k, "."))...)
		}
		return found
	}
	referenceList, referenceIsList := referenceBody.([]any)
	berthList, berthIsList := berthBody.([]any)
	if referenceIsList && berthIsList && len(referenceList) == len(berthList) {
		var found []string
		for i := range referenceList {
			found = append(found, differ(referenceList[i], berthList[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return found
	}
	if reflect.DeepEqual(referenceBody, berthBody) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, not %s", path, show(berthBody), show(referenceBody))}
}

func sortedKeys(keys map[string]bool) []string {
	var all []string
	for k := range keys {
		all = append(all, k)
	}
	sort.Strings(all)
	return all
}

func show(value any) string {
	if value == nil {
		return "(absent)"
	}
	text, _ := json.Marshal(value)
	return clip(string(text))
}

// at returns the value at a dotted path.
func at(value any, path string) any {
	for _, key := range strings.Split(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// cut removes the value at a dotted path; * stands for every element of a list.
func cut(value any, path string) any {
	if path == "" {
		return value
	}
	key, rest, deeper := strings.Cut(path, ".")
	switch v := value.(type) {
	case []any:
		if key == "*" {
			for i := range v {
				v[i] = cut(v[i], rest)
			}
		}
	case map[string]any:
		if !deeper {
			delete(v, key)
		} else if member, ok := v[key]; ok {
			v[key] = cut(member, rest)
		}
	}
	return value
}
