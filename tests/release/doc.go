// Package release_test looks at what a release is made with: the binary, its list of parts, the image and the workflows.
package release
