package main

func (g *generator) nodeSelector() object {
	selector := object{}
	for _, key := range some(g.rng, g.between(0, 2), labelKeys) {
		selector[key] = pick(g.rng, labelValues[key]...)
	}
	if g.chance(g.unusual) {
		selector[pick(g.rng, "absent", "bad key!", "disk")] = pick(g.rng, "", "bad value!", "ssd")
	}
	return selector
}

func (g *generator) nodeAffinity() object {
	affinity := object{}
	if g.chance(0.55) {
		affinity["requiredDuringSchedulingIgnoredDuringExecution"] = g.required()
	}
	if g.chance(0.6) {
		preferred := array{}
		for range g.between(0, 4) {
			preferred = append(preferred, g.preferredTerm())
		}
		affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
	}
	return affinity
}

func (g *generator) required() object {
	if g.chance(0.03) {
		return pick(g.rng, object{}, object{"nodeSelectorTerms": nil}, object{"nodeSelectorTerms": array{}})
	}
	terms := array{}
	for range g.between(1, 3) {
		terms = append(terms, g.selectorTerm(g.unusual))
	}
	return object{"nodeSelectorTerms": terms}
}

func (g *generator) preferredTerm() object {
	term := object{"weight": pick(g.rng, 1, 2, 10, 50, 100), "preference": g.selectorTerm(g.unusual * 0.1)}
	switch roll := g.Float64(); {
	case roll < 0.04:
		// Weight 0 is skipped before it is parsed, so its term may contain anything.
		term["weight"] = 0
		term["preference"] = g.selectorTerm(0.7)
	case roll < 0.08:
		term["preference"] = pick(g.rng, object{}, object{"matchExpressions": array{}})
	case roll < 0.08+g.unusual*0.1:
		term["weight"] = pick(g.rng, -1, 101, 2147483647)
	}
	return term
}

// selectorTerm draws one term; mistakes is the probability of each requirement being one that does not parse.
func (g *generator) selectorTerm(mistakes float64) object {
	if g.chance(0.03) {
		return object{}
	}
	term := object{}
	if g.chance(0.85) {
		expressions := array{}
		for range g.between(1, 2) {
			expressions = append(expressions, g.requirement(mistakes))
		}
		term["matchExpressions"] = expressions
	}
	if g.chance(0.2) || len(term) == 0 {
		fields := array{}
		count := 1
		if g.chance(0.15) {
			count = 2
		}
		for range count {
			fields = append(fields, g.fieldRequirement(mistakes))
		}
		term["matchFields"] = fields
	}
	return term
}

func (g *generator) requirement(mistakes float64) object {
	if g.chance(mistakes * 0.5) {
		return g.brokenRequirement()
	}
	key := pick(g.rng, labelKeys...)
	values := array{}
	for _, value := range some(g.rng, g.between(1, 3), labelValues[key]) {
		values = append(values, value)
	}
	switch operator := pick(g.rng, "In", "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"); operator {
	case "Exists", "DoesNotExist":
		r := object{"key": key, "operator": operator}
		if g.chance(0.1) {
			r["values"] = array{}
		}
		return r
	case "Gt", "Lt":
		return object{"key": pick(g.rng, "gen", "gen", "gen", key), "operator": operator,
			"values": array{pick(g.rng, "0", "1", "5", "6", "007", "100", "9223372036854775807")}}
	default:
		return object{"key": key, "operator": operator, "values": values}
	}
}

// brokenRequirement does not parse. A required term with it matches nothing; a preferred one fails the attempt.
func (g *generator) brokenRequirement() object {
	return pick(g.rng,
		object{"key": "gen", "operator": "Gt", "values": array{"abc"}},
		object{"key": "gen", "operator": "Lt", "values": array{"-5"}},
		object{"key": "gen", "operator": "Gt", "values": array{"+5"}},
		object{"key": "gen", "operator": "Gt", "values": array{"1", "2"}},
		object{"key": "gen", "operator": "Lt", "values": array{}},
		object{"key": "gen", "operator": "Gt", "values": array{"9223372036854775808"}},
		object{"key": "gen", "operator": "Gt", "values": array{""}},
		object{"key": "disk", "operator": "In", "values": array{}},
		object{"key": "disk", "operator": "NotIn"},
		object{"key": "disk", "operator": "Exists", "values": array{"ssd"}},
		object{"key": "disk", "operator": "Like", "values": array{"ssd"}},
		object{"key": "disk", "operator": "", "values": array{"ssd"}},
		object{"key": "bad key!", "operator": "Exists"},
		object{"key": "", "operator": "Exists"},
		object{"key": "disk", "operator": "In", "values": array{"bad value!"}},
		object{"key": "disk", "operator": "In", "values": array{"ssd", "-"}},
		object{"key": "disk", "operator": "NotIn", "values": array{"0123456789012345678901234567890123456789012345678901234567890123"}},
		object{"key": "a/b/c", "operator": "DoesNotExist"},
	)
}

func (g *generator) fieldRequirement(mistakes float64) object {
	if g.chance(mistakes) {
		return pick(g.rng,
			object{"key": "metadata.name", "operator": "In", "values": array{g.someNodeName(), g.someNodeName()}},
			object{"key": "metadata.name", "operator": "In", "values": array{}},
			object{"key": "metadata.name", "operator": "NotIn", "values": array{g.someNodeName(), g.someNodeName()}},
			object{"key": "metadata.name", "operator": "Exists"},
			object{"key": "metadata.name", "operator": "Gt", "values": array{"1"}},
			object{"key": "metadata.name", "operator": "", "values": array{g.someNodeName()}},
			object{"key": "metadata.namespace", "operator": "In", "values": array{"x"}},
			object{"key": "metadata.namespace", "operator": "In", "values": array{""}},
			object{"key": "metadata.namespace", "operator": "NotIn", "values": array{"x"}},
			object{"key": "", "operator": "In", "values": array{g.someNodeName()}},
		)
	}
	return object{"key": "metadata.name", "operator": pick(g.rng, "In", "In", "In", "NotIn"), "values": array{g.someNodeName()}}
}
