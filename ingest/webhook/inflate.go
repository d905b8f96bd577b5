package webhook

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
)

// inflate returns what r is when it is not encoded. Reading more than limit of that fails with an http.MaxBytesError, as reading too
// much of r does: nobody's bomb is unpacked further.
func inflate(r io.Reader, encoding string, limit int64) (io.Reader, error) {
	var plain io.ReadCloser
	var err error
	switch encoding {
	case "gzip":
		plain, err = gzip.NewReader(r)
	case "deflate":
		plain, err = zlib.NewReader(r)
	default:
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return http.MaxBytesReader(nil, plain, limit), nil
}
