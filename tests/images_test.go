package tests

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pictures of the dashboard that make screenshots takes, and how large each is.
var pictures = map[string]image.Point{
	"timeline": {1440, 900}, "workload": {1440, 900}, "held": {2160, 1350}, "clusters": {2160, 1350}, "impact": {1440, 900},
	"phone": {780, 1688},
}

// How large the file of a picture may be, in bytes: less shows nothing, and more is slow to load.
const (
	minPicture = 10_000
	maxPicture = 300_000
)

var (
	htmlImage = regexp.MustCompile(`(?s)<(?:img|source)\s[^>]*>`)
	htmlAlt   = regexp.MustCompile(`\salt="[^"]*\w[^"]*"`)
	htmlFile  = regexp.MustCompile(`\ssrc(?:set)?="([^"]+)"`)
	mdImage   = regexp.MustCompile(`!\[([^\]\n]*)\]\(([^()\s]+)\)`)
)

// TestPicturesAreThere: each picture is a PNG of its size in light and dark, there are no others, and documents show all of them.
func TestPicturesAreThere(t *testing.T) {
	var files []string
	for name, want := range pictures {
		for _, theme := range []string{"light", "dark"} {
			file := "docs/images/" + name + "-" + theme + ".png"
			files = append(files, file)
			content, err := os.ReadFile("../" + file)
			if err != nil {
				t.Error(err)
				continue
			}
			if complaint := judgePicture(content, want); complaint != "" {
				t.Errorf("%s %s", file, complaint)
			}
		}
	}
	there, err := filepath.Glob("../docs/images/*")
	if err != nil {
		t.Fatal(err)
	}
	shown, complaints := judgeImages(documents(t))
	for _, complaint := range complaints {
		t.Error(complaint)
	}
	for _, file := range there {
		if file = filepath.ToSlash(strings.TrimPrefix(file, "../")); !slices.Contains(files, file) {
			t.Errorf("%s: make screenshots does not take it", file)
		}
	}
	for _, file := range files {
		if !slices.Contains(shown, file) {
			t.Errorf("no document shows %s", file)
		}
	}
	for _, file := range shown {
		if _, err := os.Stat("../" + file); err != nil {
			t.Errorf("a document shows a picture that is not there: %v", err)
		}
	}
}

// judgePicture returns what is wrong with the content of a file that should be a picture of a size; empty if nothing is.
func judgePicture(content []byte, want image.Point) string {
	picture, err := png.Decode(bytes.NewReader(content))
	switch {
	case err != nil:
		return "is not a PNG: " + err.Error()
	case picture.Bounds().Size() != want:
		return "has " + picture.Bounds().Size().String() + " pixels, want " + want.String()
	case len(content) < minPicture:
		return "is too small to show anything"
	case len(content) > maxPicture:
		return "is too large"
	}
	return ""
}

// judgeImages returns the files of this repository that documents show as pictures, and a complaint for each picture without alternative text.
func judgeImages(texts map[string]string) (shown, complaints []string) {
	for name, text := range texts {
		text = mdCode.ReplaceAllString(mdFence.ReplaceAllString(text, ""), "x")
		add := func(file, alt string) {
			if strings.TrimSpace(alt) == "" {
				complaints = append(complaints, name+": "+file+" has no alternative text")
			}
			if !strings.Contains(file, "://") {
				shown = append(shown, path.Join(path.Dir(name), file))
			}
		}
		for _, m := range mdImage.FindAllStringSubmatch(text, -1) {
			add(m[2], m[1])
		}
		for _, tag := range htmlImage.FindAllString(text, -1) {
			alt := htmlAlt.FindString(tag)
			if strings.HasPrefix(tag, "<source") {
				alt = "that of the img beside it"
			}
			if file := htmlFile.FindStringSubmatch(tag); file != nil {
				add(file[1], alt)
			}
		}
	}
	slices.Sort(shown)
	slices.Sort(complaints)
	return slices.Compact(shown), complaints
}

func TestPictureRulesCatch(t *testing.T) {
	shown, complaints := judgeImages(map[string]string{
		"docs/a.md": "<picture>\n<source media=\"(x)\" srcset=\"images/a-dark.png\">\n<img alt=\"The page a\" src=\"images/a-light.png\">\n</picture> ![](images/b.png) ![c](../c.png)",
		"README.md": "<img src=\"docs/images/d.png\"\n alt=\" \"> <img src=\"https://example.com/e.svg\" alt=\"\"> `<img src=\"f.png\">`\n```\n![](g.png)\n```\n",
	})
	if want := []string{"c.png", "docs/images/a-dark.png", "docs/images/a-light.png", "docs/images/b.png", "docs/images/d.png"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	if want := []string{
		"README.md: docs/images/d.png has no alternative text", "README.md: https://example.com/e.svg has no alternative text",
		"docs/a.md: images/b.png has no alternative text",
	}; !slices.Equal(complaints, want) {
		t.Errorf("complaints %q, want %q", complaints, want)
	}
	// Uncompressed, so that a picture is as large as its pixels.
	encode := func(width, height int) []byte {
		picture := image.NewRGBA(image.Rect(0, 0, width, height))
		var content bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&content, picture); err != nil {
			t.Fatal(err)
		}
		return content.Bytes()
	}
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"right":       {encode(100, 80), ""},
		"not a PNG":   {[]byte("<svg/>"), "is not a PNG"},
		"cut":         {encode(100, 80)[:20_000], "is not a PNG"},
		"other sizes": {encode(80, 100), "has (80,100) pixels, want (100,80)"},
	} {
		got := judgePicture(tc.content, image.Pt(100, 80))
		if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := judgePicture(encode(40, 40), image.Pt(40, 40)); got != "is too small to show anything" {
		t.Errorf("a small file: %q", got)
	}
	if got := judgePicture(encode(300, 300), image.Pt(300, 300)); got != "is too large" {
		t.Errorf("a large file: %q", got)
	}
}
