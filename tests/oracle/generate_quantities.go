package main

import "fmt"

// Resource names of every class that the scheduler distinguishes: native, extended, huge pages, names in Kubernetes'
// own domain, and ignored names.
// domain, and names it ignores.
var (
	extendedNames = []string{"nvidia.com/gpu", "example.com/foo", "example.com/bar"}
	scalarNames   = []string{
		"nvidia.com/gpu", "example.com/foo", "example.com/bar", "hugepages-2Mi", "hugepages-1Gi",
		"kubernetes.io/batch-cpu", "foo.kubernetes.io/thing", "attachable-volumes-csi-x",
		"requests.example.com/odd", "deviceclass.resource.kubernetes.io/class-a", "storage", "plain",
	}
)

// cpu formats approximately this number of thousandths of a CPU.
func (g *generator) cpu(milli int) any {
	if g.chance(g.unusual) {
		return g.unusualQuantity(pick[any](g.rng, "0.1", "100m", "2.5m", "500u", "1500u", "0.0005", "1e-1", "1.0005",
			"1e0", "2000m", number("1"), number("0.25"), "1.", ".5", "+1", "0", "250000000n"))
	}
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf("%dm", milli)
	case 1:
		return fmt.Sprintf("%dm", milli/50*50+50)
	default:
		return fmt.Sprint(1 + milli/1000)
	}
}

// memory formats approximately this number of mebibytes.
func (g *generator) memory(mebi int) any {
	if g.chance(g.unusual) {
		return g.unusualQuantity(pick[any](g.rng, "1.5Gi", "0.5Gi", "0.1Gi", "1e9", "1E9", "500M", "123456789", "1000000k",
			"128974848000m", "0.3Ki", "1.1Mi", number("104857600"), "0", "1e3", "209715200", "209715199", "200Mi"))
	}
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf("%dMi", mebi)
	case 1:
		return fmt.Sprintf("%dMi", mebi/128*128+128)
	default:
		return fmt.Sprintf("%dGi", 1+mebi/1024)
	}
}

// count formats a small integer.
func (g *generator) count(most int) any {
	if g.chance(g.unusual) {
		return g.unusualQuantity(pick[any](g.rng, "0", "1", "1e0", "1500m", number("2"), "0.5", "1k", "4Ki"))
	}
	return fmt.Sprint(g.between(0, most))
}

// unusualQuantity returns an unusual spelling, or in a wild cluster an extreme value.
func (g *generator) unusualQuantity(odd any) any {
	if !g.wild || g.chance(0.5) {
		return odd
	}
	return pick[any](g.rng, "12E", "1e19", "9223372036854775807", "9223372036854775808", "8Ei", "100Pi", "93Pi",
		"-1", "-500m", "1n", "0.1m", "90000T", nil, "12345678901234567890123")
}

// requests draws the requests of a container, up to approximately the given size.
func (g *generator) requests(cpu, memory int) object {
	r := object{}
	if g.chance(0.8) {
		r["cpu"] = g.cpu(g.between(1, cpu))
	}
	if g.chance(0.8) {
		r["memory"] = g.memory(g.between(1, memory))
	}
	if g.chance(0.1) {
		r["ephemeral-storage"] = g.memory(g.between(1, 2048))
	}
	if g.chance(g.scalars) {
		names := g.common
		if g.chance(0.1) {
			names = scalarNames
		}
		for _, name := range some(g.rng, g.between(1, 3), names) {
			r[name] = g.scalar(name)
		}
	}
	if g.chance(0.01) {
		r["pods"] = "1"
	}
	return r
}

func (g *generator) scalar(name string) any {
	switch name {
	case "hugepages-2Mi":
		return pick[any](g.rng, "2Mi", "4Mi", "64Mi", "0")
	case "hugepages-1Gi":
		return pick[any](g.rng, "1Gi", "2Gi")
	case "storage":
		return "100Gi"
	default:
		return g.count(2)
	}
}

// resources draws the resources of a container. Defaulting derives requests from limits.
func (g *generator) resources(cpu, memory int) object {
	out := object{}
	if g.chance(0.8) {
		out["requests"] = g.requests(cpu, memory)
	}
	if g.chance(0.2) {
		out["limits"] = g.requests(cpu, memory)
	}
	if len(out) == 0 && g.chance(0.3) {
		out["requests"] = pick[any](g.rng, object{}, object{"cpu": "0"}, object{"memory": "0"}, object{"cpu": "0", "memory": "0"})
	}
	return out
}
