// Package compose_test brings up docker-compose.yaml on a real engine (make compose): every service but those of profiles, with the images,
// commands, files, volumes, users and dependencies that the file names. No image is pulled: each is made here of the same program, under the
// same name.
//
// `docker compose` does it, where it is there; otherwise the file is what the loader of the Compose specification makes of it, and engine_test.go does
// what the command would.
package compose
