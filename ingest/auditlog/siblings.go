package auditlog

import (
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
// Where the log is a symbolic link, those beside the file that it leads to are among them, and that file itself is not.
func siblings(path string, not ...string) ([]sibling, error) {
	// Errors are those of a log that is not there, or show when it is opened.
	written, _ := os.Stat(path)
	var out []sibling
	for _, as := range called(path) {
		found, err := beside(as, not)
		if err != nil && as == path {
			return nil, err
		}
		out = append(out, found...) // a folder that a link leads to need not be listable for the log to be read
	}
	plain := map[string]bool{}
	for _, s := range out {
		plain[s.path] = true
	}
	out = slices.DeleteFunc(out, func(s sibling) bool {
		name, compressed := strings.CutSuffix(s.path, gzipSuffix)
		return compressed && plain[name] || written != nil && os.SameFile(written, s.info)
	})
	slices.SortFunc(out, func(a, b sibling) int { return a.compare(b.order) })
	return out, nil
}

// maxLinks is how many symbolic links may lead to the log.
const maxLinks = 16

// called returns path and, if it is a symbolic link, where that leads, whether anything is there or not.
func called(path string) []string {
	all := []string{path}
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break // it is no link, or not there at all
		}
		if !filepath.IsAbs(to) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path)) // ".." leads up from where the folder is
			if err != nil {
				break
			}
			to = filepath.Join(folder, to)
		}
		path = to
		all = append(all, path)
	}
	return all
}

// beside returns the rotated files in the folder of a log that go by its name.
func beside(path string, not []string) ([]sibling, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var out []sibling
	for _, e := range entries {
		name := e.Name()
		full := filepath.Join(filepath.Dir(path), name)
		if !isRotated(filepath.Base(path), name) || slices.ContainsFunc(not, isPartOf(full)) {
			continue
		}
		// Rotating a link by renaming leaves a link to what was written.
		info, err := os.Stat(full)
		if err != nil {
			continue // it leads nowhere, or where nobody may look
		}
		if info.Mode().IsRegular() {
			out = append(out, sibling{path: full, info: info, order: order{Since: since(filepath.Base(path), info), Name: name}})
		}
	}
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
