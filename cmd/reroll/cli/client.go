package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/api/view"
)

// Limits of one question.
const (
	// maxAnswer bounds what is read of an answer that is not a stream.
	maxAnswer = 64 << 20
	// pageSize is what the API has for a page at most.
	pageSize = 500
)

type client struct {
	base  *url.URL
	http  *http.Client
	token string
	agent string
}

// refusal is an answer that says why there is none.
type refusal struct {
	status int
	detail string
}

func (r *refusal) Error() string { return r.detail }

func (c *client) read(ctx context.Context, path string, query url.Values, v any) (json.RawMessage, error) {
	body, err := c.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	return body, decode(body, v)
}

func decode(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the server's answer cannot be read: is it a Reroll? %w", err)
	}
	return nil
}

func (c *client) ask(ctx context.Context, method, path string, query url.Values, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	response, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base.Redacted(), err)
	}
	return answer, nil
}

// send returns an answer that is not a refusal; its body must be closed.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", c.agent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreached(err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close() //nolint:errcheck // it was only read
		return nil, refusalOf(response)
	}
	return response, nil
}

// unreached says why there is no answer, and how else to reach Reroll. What a server answered is not for want of a way to it.
func (c *client) unreached(err error) error {
	var network *net.OpError
	if !errors.As(err, &network) || network.Op != "dial" {
		return fmt.Errorf("ask the server (--server, $%s): %w", serverVariable, err)
	}
	return fmt.Errorf("cannot reach Reroll at %s: %w. Set --context for the Reroll of a cluster, or --server or %s to its address",
		c.base.Redacted(), network.Err, serverVariable)
}

// path joins the parts that name a record. None of them can leave its place.
func path(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/api/v1/" + strings.Join(parts, "/")
}

// refusalOf reads a problem document, or what there is instead.
func refusalOf(response *http.Response) error {
	r := &refusal{status: response.StatusCode, detail: "the server answers " + response.Status}
	var problem struct {
		Detail string `json:"detail"`
		Errors []struct {
			Message, Location string
		} `json:"errors"`
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // what was read says enough
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		r.detail = problem.Detail
		for _, e := range problem.Errors {
			r.detail += " " + e.Location + ": " + e.Message + "."
		}
	}
	return r
}

type listing[T any] struct {
	items    []T
	raw      []json.RawMessage
	warnings []string
}

// page returns the pages as one.
func (l listing[T]) page() view.List[json.RawMessage] {
	return view.List[json.RawMessage]{Items: append([]json.RawMessage{}, l.raw...), Warnings: append([]string{}, l.warnings...)}
}

// list reads most items of a resource, or all if most is 0, page by page.
func list[T any](ctx context.Context, c *client, resource string, query url.Values, most int) (l listing[T], err error) {
	for {
		query.Set("limit", strconv.Itoa(pageSize))
		if most > 0 {
			query.Set("limit", strconv.Itoa(min(pageSize, most-len(l.items))))
		}
		var page view.List[json.RawMessage]
		if _, err := c.read(ctx, path(resource), query, &page); err != nil {
			return l, err
		}
		for _, raw := range page.Items {
			var item T
			if err := decode(raw, &item); err != nil {
				return l, err
			}
			l.items, l.raw = append(l.items, item), append(l.raw, raw)
		}
		l.warnings = union(l.warnings, page.Warnings)
		if page.Continue == "" || most > 0 && len(l.items) >= most {
			return l, nil
		}
		if page.Continue == query.Get("continue") {
			return l, errors.New("the server's list does not end: is it a Reroll?")
		}
		query.Set("continue", page.Continue)
	}
}
