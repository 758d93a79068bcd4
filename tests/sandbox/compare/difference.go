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

// compare tells in which ways the sandbox's answer is another one.
func compare(r request, real, ours *answer) []string {
	var found []string
	if real.status != ours.status {
		found = append(found, fmt.Sprintf("HTTP status: %d, not %d", ours.status, real.status))
	}
	if r.only == "code" {
		return found
	}
	if r.differs != "" {
		return nil // on purpose
	}
	if !slices.Equal(real.warnings, ours.warnings) {
		found = append(found, fmt.Sprintf("warnings: %q, not %q", ours.warnings, real.warnings))
	}
	var theirs, mine any
	theirsJSON, mineJSON := json.Unmarshal(real.body, &theirs), json.Unmarshal(ours.body, &mine)
	if theirsJSON != nil || mineJSON != nil {
		if string(real.body) != string(ours.body) {
			found = append(found, fmt.Sprintf("body: %q, not %q", clip(string(ours.body)), clip(string(real.body))))
		}
		return found
	}
	theirs, mine = normal(theirs, ""), normal(mine, "")
	for _, path := range strings.Split(r.without, ",") {
		theirs, mine = cut(theirs, path), cut(mine, path)
	}
	if r.only == "message" {
		r.only = "kind,status,message,reason,details,code"
	}
	if r.only == "" {
		return append(found, differ(theirs, mine, "")...)
	}
	for _, path := range strings.Split(r.only, ",") {
		found = append(found, differ(at(theirs, path), at(mine, path), path)...)
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

// normal hides what differs between any two servers: identities, versions, times.
func normal(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		// The admission that sets them is off where there is nobody to make service accounts.
		delete(v, "serviceAccountName")
		delete(v, "serviceAccount")
		for k, member := range v {
			v[k] = normal(member, k)
		}
		// The order of managers written within one second is a matter of chance.
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

func differ(theirs, mine any, path string) []string {
	their, theirIsMap := theirs.(map[string]any)
	my, myIsMap := mine.(map[string]any)
	if theirIsMap && myIsMap {
		keys := map[string]bool{}
		for k := range their {
			keys[k] = true
		}
		for k := range my {
			keys[k] = true
		}
		var found []string
		for _, k := range sortedKeys(keys) {
			found = append(found, differ(their[k], my[k], strings.TrimPrefix(path+"."+k, "."))...)
		}
		return found
	}
	theirList, theirIsList := theirs.([]any)
	myList, myIsList := mine.([]any)
	if theirIsList && myIsList && len(theirList) == len(myList) {
		var found []string
		for i := range theirList {
			found = append(found, differ(theirList[i], myList[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return found
	}
	if reflect.DeepEqual(theirs, mine) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, not %s", path, show(mine), show(theirs))}
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

// at is the value at a dotted path.
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

// cut takes the value at a dotted path out; * stands for every element of a list.
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
