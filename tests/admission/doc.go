// Package admission tests the admission webhook where it works: registered with a real API server as the chart registers it, called by what
// helm and kubectl do, with real controllers that count what rolls.
package admission
