package plan

// Rule is one rule. If reports false where the next rule is to be asked.
type Rule struct {
	Name string
	// Says is the rule in a sentence, for ARCHITECTURE.md.
	Says string
	If   func(Case) (Verdict, bool)
}

// Rules are all rules, in the order in which they are asked.
var Rules = []Rule{}

// Decide returns the answer of the first rule that has one.
func Decide(c Case) Verdict {
	for _, r := range Rules {
		if v, ok := r.If(c); ok {
			v.Rule = r.Name
			return v
		}
	}
	return Verdict{Do: Nothing}
}
