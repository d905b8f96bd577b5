package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
)

// What the files are called in an archive. As kubectl-reroll the program knows that it is a plugin.
const (
	binaryName  = "kubectl-reroll"
	licenseName = "LICENSE"
	partsName   = "THIRD_PARTY_LICENSES"
)

// pack writes an archive of a binary under its name there, with the licence and those of its parts, and returns its SHA-256 in
// hexadecimal. It has no times and no owners.
func pack(target, binary, name, license, parts string) (sum string, err error) {
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	files := tar.NewWriter(zip)
	for _, f := range []struct {
		name, from string
		mode       int64
	}{{name, binary, 0o755}, {licenseName, license, 0o644}, {partsName, parts, 0o644}} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return "", err
		}
		if err := files.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(content)), Format: tar.FormatUSTAR}); err != nil {
			return "", err
		}
		if _, err := files.Write(content); err != nil {
			return "", err
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		return "", err
	}
	digest := sha256.Sum256(archive.Bytes())
	return hex.EncodeToString(digest[:]), os.WriteFile(target, archive.Bytes(), 0o644)
}
