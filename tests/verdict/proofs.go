package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// proofsFile has the rows of the comparison table, each with its proof.
const proofsFile = "tests/capabilities/capabilities.yaml"

// checkProofs fails unless every proof of the comparison table passed in the records of a folder.
func checkProofs(records string) error {
	ran, err := readOutcomes(records)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(proofsFile)
	if err != nil {
		return err
	}
	var table struct {
		Rows []struct{ What, Proof string }
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		return err
	}
	var errs []error
	n := 0
	for _, row := range table.Rows {
		if row.Proof == "" {
			continue
		}
		n++
		if err := ran.proves(row.Proof); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", row.What, err))
		}
	}
	if n == 0 {
		return fmt.Errorf("%s names no proofs", proofsFile)
	}
	if len(errs) == 0 {
		fmt.Printf("%d proofs of the comparison table passed\n", n)
	}
	return errors.Join(errs...)
}

// proves returns nil if a proof, which is a test in a file or a scenario, has run and passed with all tests within it.
func (o outcomes) proves(proof string) error {
	pkg, test, within := proofTest(proof)
	passed := 0
	for n, found := range o {
		if !strings.HasPrefix(n, pkg+".") {
			continue
		}
		own := n == pkg+"."+test || strings.HasPrefix(n, pkg+"."+test+"/")
		if within {
			own = strings.HasPrefix(n, pkg+".TestScenarios") && path.Base(n) == test
		}
		if !own {
			continue
		}
		if found.Action != "pass" {
			return fmt.Errorf("%s is proved by %s, which did not pass: %s", proof, n, found.Action)
		}
		passed++
	}
	if passed == 0 {
		return fmt.Errorf("%s did not run", proof)
	}
	return nil
}

// proofTest returns the package and the name of the test that a proof names, and whether it is the name of a scenario within TestScenarios.
func proofTest(proof string) (pkg, test string, within bool) {
	file, test, isTest := strings.Cut(proof, ":")
	if isTest {
		return path.Dir(file), test, false
	}
	dir, scenario := path.Dir(file), strings.TrimSuffix(path.Base(file), ".yaml")
	switch dir {
	case "tests/scenarios":
		return "tests/e2e", scenario, true
	case "tests/conformance/stakater/scenarios":
		return "tests/conformance/stakater", scenario, true
	}
	return "tests/conformance/tools", path.Base(dir) + "-" + scenario, true
}
