package reloader_test

import "testing"

func FuzzDecodeWant(f *testing.F) { fuzz(f, wholeWant) }
func FuzzDecodeCopy(f *testing.F) { fuzz(f, wholeCopy) }
