// Package providerclass tests reloads because of SecretProviderClasses through the whole line: a real API server with resources of the
// same schema as those of the Secrets Store CSI driver, and a real reroll process. The driver itself does not run: the tests write as
// it does.
package providerclass
