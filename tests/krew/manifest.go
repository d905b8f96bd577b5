package main

// repository is where releases are.
const repository = "https://github.com/reroll-dev/reroll"

// manifest is what is used of krew's description of a plugin.
type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Caveats          string     `json:"caveats"`
	Platforms        []platform `json:"platforms"`
}

// platform is one archive, and for whom it is.
type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Files    []file   `json:"files"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// file is one that is taken out of the archive, and where it goes.
type file struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newManifest(version string) manifest {
	return manifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{"reroll"},
		Spec: spec{
			Version: "v" + version, Homepage: repository, ShortDescription: "Say who changed a config and what rolled",
			Description: "Asks Reroll, which rolls workloads when a ConfigMap or Secret that they use has changed: who changed what, what rolled and\n" +
				"what did not and why, and what would roll. Freezes, pauses and rolls, for those who may.\n",
			Caveats:   "It asks the REST API of Reroll: with --context or --kubeconfig by kubectl port-forward, otherwise at --server or $REROLL_SERVER.\n",
			Platforms: []platform{},
		},
	}
}

// platformOf describes an archive with the binary that system, a match of named, is about.
func platformOf(version, archive, sum string, system []string) platform {
	binary := binaryName + system[3]
	return platform{
		Selector: selector{map[string]string{"os": system[1], "arch": system[2]}},
		URI:      repository + "/releases/download/v" + version + "/" + archive,
		SHA256:   sum,
		Files:    []file{{From: binary, To: "."}, {From: licenseName, To: "."}, {From: partsName, To: "."}},
		Bin:      binary,
	}
}
