// Command pictures takes the pictures of the dashboard that the documents show, light and dark, from the made-up fleet.
//
// The fleet and the page's clock are the same in each run; fonts are the machine's.
package main

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/reroll-dev/reroll/tests/dashboard/browser"
	"github.com/reroll-dev/reroll/tests/dashboard/showcase"
)

// changes is how long the history of the fleet is.
const changes = 400

// pages are what pictures are taken of, each with what is on it once it has its data.
var pages = []page{
	{"timeline", "#/", desk, "[data-row] .badge", "a[data-row]"},
	{"workload", "#/workloads/prod-eu/shop/Deployment/mailer", desk, ".steps li >> nth=3", ""},
	{"impact", "#/impact", desk, ".canvas .node >> nth=10", ""},
}

type page struct {
	name, path string
	window     window
	has        string
	// click is what is clicked before the picture is taken; nothing if it is empty.
	click string
}

// window is the size of a window, and how many pixels of the picture one of the window has.
type window struct {
	width, height int
	scale         float64
}

var desk = window{1440, 900, 1.5}

func main() {
	to := flag.String("to", "docs/images", "folder for the pictures")
	driver := flag.String("driver", "tests/dashboard/browser", "folder of drive.mjs")
	only := flag.String("only", "", "name of the one page to take pictures of")
	flag.Parse()
	if err := take(*to, *driver, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func take(to, driver, only string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	b, err := browser.Start(driver)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, p := range pages {
		if only != "" && p.name != only {
			continue
		}
		for _, theme := range []string{"light", "dark"} {
			file := filepath.Join(to, p.name+"-"+theme+".png")
			if err := p.shoot(b, theme, file); err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, theme, err)
			}
			fmt.Println(file)
		}
	}
	return nil
}

// shoot takes one picture, of a fleet of its own: its newest change is as old in each.
func (p page) shoot(b *browser.Browser, theme, file string) error {
	fleet := showcase.New(time.Now())
	fleet.Fill(changes)
	handler, err := fleet.Handler()
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	defer server.CloseClientConnections() // streams of events would be waited for
	commands := []browser.Params{
		{
			"do": "open", "url": server.URL + "/" + p.path, "theme": theme, "width": p.window.width, "height": p.window.height, "scale": p.window.scale,
			"now": fleet.Now.UnixMilli(),
		},
		{"do": "wait", "selector": p.has},
		{"do": "wait", "selector": "[data-link=live]", "state": "attached"},
	}
	if p.click != "" {
		commands = append(commands, browser.Params{"do": "click", "selector": p.click})
	}
	for _, command := range append(commands, browser.Params{"do": "settled", "file": file}) {
		if _, err := b.Do(command["do"].(string), command); err != nil {
			return err
		}
	}
	answer, err := b.Do("faults", nil)
	if err != nil {
		return err
	}
	if string(answer) != "[]" {
		return fmt.Errorf("the page has faults: %s", answer)
	}
	return shrink(file)
}
