package line

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// pieceSize is how many characters of content make a piece of it.
const pieceSize = 8

// Pieces returns all forms that any piece of content can have in a text. Choose content that no text contains by chance.
func Pieces(content string, text []byte) []string {
	var found []string
	for form, whole := range forms(content) {
		size := pieceSize
		if form == asHex {
			size *= 2
		}
		for i := 0; i+size <= len(whole); i++ {
			if piece := whole[i : i+size]; bytes.Contains(text, []byte(piece)) {
				found = append(found, fmt.Sprintf("%s (%q)", form, piece))
				break
			}
		}
	}
	return found
}

const asHex = "as hex"

// forms are the forms that content can have in a text.
func forms(content string) map[string]string {
	all := map[string]string{"as it is": content, asHex: hex.EncodeToString([]byte(content))}
	// Two of three alignments of base64 shift the text; all three are looked for, less the ends that depend on neighbours.
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte("xyz"[:shift] + content))
		all[fmt.Sprintf("as base64 at offset %d", shift)] = encoded[4 : len(encoded)-4]
	}
	return all
}

// PiecesInFiles returns where pieces of content are in the files below a folder. Unless a file has the name as well, the
// search proves nothing, which is an error. Files may go meanwhile.
func PiecesInFiles(folder, content, name string) (found []string, err error) {
	named := false
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
			return nil
		}
		data, readErr := os.ReadFile(path)
		if errors.Is(readErr, fs.ErrNotExist) {
			return nil
		}
		named = named || bytes.Contains(data, []byte(name))
		for _, form := range Pieces(content, data) {
			found = append(found, form+" in "+path)
		}
		return errors.Join(err, readErr)
	})
	if !named {
		err = errors.Join(err, fmt.Errorf("the files in %s do not even name %s: the search proves nothing", folder, name))
	}
	return found, err
}
