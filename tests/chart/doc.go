// Package chart tests the Helm chart and the Compose file as their users meet them: through the real helm, the Compose
// specification's own loader, the API server's own types and the real binary's flags.
package chart
