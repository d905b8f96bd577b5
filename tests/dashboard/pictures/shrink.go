package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
)

// shrink writes a picture again with few colours. Other colours, at the edges of letters, become the nearest.
func shrink(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return err
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, reduced(from)); err != nil {
		return err
	}
	return os.WriteFile(file, small.Bytes(), 0o644)
}

// maxColours is how many colours a picture has that needs one byte for each pixel.
const maxColours = 256

func reduced(from image.Image) *image.Paletted {
	bounds, counts := from.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	palette, nearest := choose(counts)
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return to
}

// choose returns the colours that stay, and which of them is nearest to each. The next that stays is the one whose pixels would otherwise
// differ most from what they become.
func choose(counts map[color.RGBA]int) (palette color.Palette, nearest map[color.RGBA]uint8) {
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	nearest = map[color.RGBA]uint8{}
	distances := make([]int, len(colours))
	next := 0
	for range min(len(colours), maxColours) {
		stays, worst := colours[next], 0
		for i, c := range colours {
			if d := distance(c, stays); len(palette) == 0 || d < distances[i] {
				distances[i], nearest[c] = d, uint8(len(palette))
			}
			if off := distances[i] * counts[c]; off > worst {
				worst, next = off, i
			}
		}
		palette = append(palette, stays)
	}
	return palette, nearest
}

func distance(a, b color.RGBA) int {
	r, g, u := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + u*u
}
