package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// An attribute has one member: int, bool, string, version, or one of their plurals.
type attribute map[string]any

type device struct {
	Driver     string               `json:"driver"`
	Multiple   bool                 `json:"multiple"`
	Attributes map[string]attribute `json:"attributes"`
	Capacity   map[string]string    `json:"capacity"`
}

func exampleDevice() device {
	return device{
		Driver:   "gpu.example.com",
		Multiple: true,
		Attributes: map[string]attribute{
			"model":           {"string": "A100"},
			"index":           {"int": 3},
			"healthy":         {"bool": true},
			"driverVersion":   {"version": "1.2.3-rc.1"},
			"links":           {"strings": []string{"n1", "n2"}},
			"other.org/index": {"int": 7},
		},
		Capacity: map[string]string{"memory": "40Gi", "other.org/cores": "1500m"},
	}
}

var compiler = dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
var environment = compiler.CompileCELExpression("true", dracel.Options{DisableCostEstimation: true}).Environment

const defaultLimit = resourceapi.CELSelectorExpressionMaxCost

// What cel-go and Kubernetes make of a case.
func evaluate(r request) (result reply) {
	limit := uint64(defaultLimit)
	if r.Limit != 0 {
		limit = r.Limit
	}
	result.Selector = evaluateSelector(r, limit)
	if _, err := variables(r.Device); err == nil {
		result.Any = evaluateAny(r, limit)
	}
	return normalized(result)
}

// The values as they are after JSON, as Berth's are.
func normalized(r reply) reply {
	bytes, err := json.Marshal(r)
	if err != nil {
		fail(err.Error())
	}
	var again reply
	if err := json.Unmarshal(bytes, &again); err != nil {
		fail(err.Error())
	}
	return again
}

func evaluateSelector(r request, limit uint64) (result map[string]any) {
	defer recoverInto(&result)
	compiled := compiler.CompileCELExpression(r.Expression, dracel.Options{DisableCostEstimation: true, CostLimit: &limit})
	if compiled.Error != nil {
		return map[string]any{"compile": compiled.Error.Error()}
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), r.Device.toAPI())
	result = map[string]any{}
	if err != nil {
		result["error"] = dracel.EnhanceRuntimeError(err).Error()
	} else {
		result["matches"] = matches
	}
	if details != nil && details.ActualCost() != nil {
		result["cost"] = *details.ActualCost()
	}
	return result
}

func evaluateAny(r request, limit uint64) (result map[string]any) {
	defer recoverInto(&result)
	ast, issues := environment.Compile(r.Expression)
	if issues != nil && issues.Err() != nil {
		return map[string]any{"compile": issues.String()}
	}
	program, err := environment.Program(ast, cel.CostLimit(limit), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return map[string]any{"plan": err.Error()}
	}
	result = map[string]any{"type": ast.OutputType().String()}
	input, _ := variables(r.Device)
	value, details, err := program.ContextEval(context.Background(), input)
	if err != nil {
		result["error"] = err.Error()
	} else {
		result["value"] = types.Format(shown(value))
	}
	result["cost"] = *details.ActualCost()
	return result
}

// Berth does not keep the exponents of quantities, which no expression can read.
func shown(value ref.Val) ref.Val {
	quantity, ok := value.Value().(*resource.Quantity)
	if !ok || quantity.Format != resource.DecimalExponent {
		return value
	}
	decimal := quantity.DeepCopy()
	decimal.Format = resource.DecimalSI
	decimal.Add(*resource.NewQuantity(0, resource.DecimalSI))
	return apiservercel.Quantity{Quantity: &decimal}
}

// cel-go panics while it plans some constant expressions.
func recoverInto(result *map[string]any) {
	if r := recover(); r != nil {
		*result = map[string]any{"panic": fmt.Sprint(r)}
	}
}

func (d device) toAPI() dracel.Device {
	result := dracel.Device{
		Driver:                   d.Driver,
		AllowMultipleAllocations: &d.Multiple,
		Attributes:               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{},
	}
	for name, a := range d.Attributes {
		result.Attributes[resourceapi.QualifiedName(name)] = a.toAPI()
	}
	for name, quantity := range d.Capacity {
		result.Capacity[resourceapi.QualifiedName(name)] = resourceapi.DeviceCapacity{Value: resource.MustParse(quantity)}
	}
	return result
}

func decode[T any](v any) (result T) {
	bytes, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(bytes, &result)
	}
	if err != nil {
		fail(err.Error())
	}
	return result
}

func (a attribute) toAPI() (result resourceapi.DeviceAttribute) {
	for kind, v := range a {
		switch kind {
		case "int":
			result.IntValue = new(decode[int64](v))
		case "bool":
			result.BoolValue = new(decode[bool](v))
		case "string":
			result.StringValue = new(decode[string](v))
		case "version":
			result.VersionValue = new(decode[string](v))
		case "ints":
			result.IntValues = decode[[]int64](v)
		case "bools":
			result.BoolValues = decode[[]bool](v)
		case "strings":
			result.StringValues = decode[[]string](v)
		case "versions":
			result.VersionValues = decode[[]string](v)
		}
	}
	return result
}

// The variables that DeviceMatches passes to an expression.
func variables(d device) (map[string]any, error) {
	api := d.toAPI()
	attributes := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(api.Attributes)) {
		value, err := attributeValue(api.Attributes[name])
		if err != nil {
			return nil, err
		}
		domain, id := split(string(name), d.Driver)
		if attributes[domain] == nil {
			attributes[domain] = map[string]any{}
		}
		attributes[domain].(map[string]any)[id] = value
	}
	capacity := map[string]any{}
	for name, c := range api.Capacity {
		domain, id := split(string(name), d.Driver)
		if capacity[domain] == nil {
			capacity[domain] = map[string]apiservercel.Quantity{}
		}
		capacity[domain].(map[string]apiservercel.Quantity)[id] = apiservercel.Quantity{Quantity: &c.Value}
	}
	empty := environment.CELTypeAdapter().NativeToValue(map[string]any{})
	withDefault := func(m map[string]any) any {
		return mapper{types.NewStringInterfaceMap(environment.CELTypeAdapter(), m), empty}
	}
	return map[string]any{"device": map[string]any{
		"driver":                   d.Driver,
		"allowMultipleAllocations": d.Multiple,
		"attributes":               withDefault(attributes),
		"capacity":                 withDefault(capacity),
	}}, nil
}

func split(name, driver string) (string, string) {
	if domain, id, found := strings.Cut(name, "/"); found {
		return domain, id
	}
	return driver, name
}

func attributeValue(a resourceapi.DeviceAttribute) (any, error) {
	version := func(text string) (apiservercel.Semver, error) {
		v, err := semver.Parse(text)
		return apiservercel.Semver{Version: v}, err
	}
	switch {
	case a.IntValues != nil:
		return a.IntValues, nil
	case a.BoolValues != nil:
		return a.BoolValues, nil
	case a.StringValues != nil:
		return a.StringValues, nil
	case a.VersionValues != nil:
		versions := make([]apiservercel.Semver, len(a.VersionValues))
		for i, text := range a.VersionValues {
			v, err := version(text)
			if err != nil {
				return nil, err
			}
			versions[i] = v
		}
		return versions, nil
	case a.IntValue != nil:
		return *a.IntValue, nil
	case a.BoolValue != nil:
		return *a.BoolValue, nil
	case a.StringValue != nil:
		return *a.StringValue, nil
	case a.VersionValue != nil:
		return version(*a.VersionValue)
	}
	return nil, fmt.Errorf("unsupported")
}

// mapper returns a default for unknown keys, like the type of the same name in Kubernetes.
type mapper struct {
	traits.Mapper
	defaultValue ref.Val
}

func (m mapper) Find(key ref.Val) (ref.Val, bool) {
	if value, found := m.Mapper.Find(key); found {
		return value, true
	}
	return m.defaultValue, true
}
