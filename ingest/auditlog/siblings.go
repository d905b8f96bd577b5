package auditlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gzipSuffix ends the names of rotated files that are compressed.
const gzipSuffix = ".gz"

// backupTime is how the API server writes the time of rotation, in UTC, into the name of a rotated file.
const backupTime = "2006-01-02T15-04-05.000"

// sibling is a rotated file.
type sibling struct {
	path string
	info os.FileInfo
	order
}

// siblings returns the rotated files of the log, oldest first: NAME-TIME.EXT as the API server names them, NAME.EXT.N and
// NAME.EXT-DATE as logrotate does, each perhaps compressed. Of a file that is there both plain and compressed, the plain one counts.
func siblings(path string, not ...string) ([]sibling, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var out []sibling
	for _, e := range entries {
		name := e.Name()
		full := filepath.Join(filepath.Dir(path), name)
		if !e.Type().IsRegular() || !isRotated(filepath.Base(path), name) || slices.ContainsFunc(not, isPartOf(full)) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, sibling{path: full, info: info, order: order{Since: since(filepath.Base(path), info), Name: name}})
	}
	plain := map[string]bool{}
	for _, s := range out {
		plain[s.Name] = true
	}
	out = slices.DeleteFunc(out, func(s sibling) bool {
		name, compressed := strings.CutSuffix(s.Name, gzipSuffix)
		return compressed && plain[name]
	})
	slices.SortFunc(out, func(a, b sibling) int { return a.compare(b.order) })
	return out, nil
}

// isPartOf returns a predicate for own, and for what is written on the way to it.
func isPartOf(full string) func(own string) bool {
	return func(own string) bool { return full == own || strings.HasPrefix(full, own+".") }
}

// isRotated reports whether name is one of a rotated file of the log called base.
func isRotated(base, name string) bool {
	if strings.HasPrefix(name, base+".") || strings.HasPrefix(name, base+"-") {
		return true
	}
	_, ok := rotatedAt(base, name)
	return ok
}

// rotatedAt returns when the API server rotated the file called name, if it is called as the API server calls such files.
func rotatedAt(base, name string) (time.Time, bool) {
	ext := filepath.Ext(base)
	rest, begins := strings.CutPrefix(name, strings.TrimSuffix(base, ext)+"-")
	middle, ends := strings.CutSuffix(strings.TrimSuffix(rest, gzipSuffix), ext)
	at, err := time.Parse(backupTime, middle)
	return at, begins && ends && err == nil
}

// since returns when the file of info was rotated, if its name tells, or else when it was written. Compressing writes anew.
func since(base string, info os.FileInfo) time.Time {
	if at, ok := rotatedAt(base, info.Name()); ok {
		return at
	}
	return info.ModTime()
}

// after returns those of all that come after done.
func after(all []sibling, done order) []sibling {
	return slices.DeleteFunc(slices.Clone(all), func(s sibling) bool { return s.compare(done) <= 0 })
}
