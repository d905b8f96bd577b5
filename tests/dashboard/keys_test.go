package dashboard

import "testing"

func TestEverythingCanBeDoneFromTheKeyboard(t *testing.T) {
	_, url := serveFleet(t, 60)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row]")
	b.press(t, "j", "j", "k", "j")
	b.wait(t, `li[aria-posinset="2"] a:focus`)
	b.press(t, "Enter")
	b.wait(t, ".panel .stages")
	b.press(t, "Escape")
	b.gone(t, ".panel")
	b.press(t, "/", "a", "l", "i", "c", "e")
	b.until(t, `location.hash.includes('q=alice') && [...document.querySelectorAll('a[data-row]')].every((r) => r.innerText.includes('alice'))`)
	b.press(t, "Escape", "g", "c")
	b.wait(t, ".card")
	b.press(t, "?")
	b.wait(t, "dialog[open] >> text=next row")
	b.accessible(t, "keys")
	b.shoot(t, "keys")
	b.press(t, "Escape")
	b.gone(t, "dialog")
	for _, view := range []struct{ key, path string }{
		{"w", "#/workloads"}, {"i", "#/impact"}, {"h", "#/held"}, {"s", "#/charts"}, {"t", "#/"},
	} {
		b.press(t, "g", view.key)
		b.until(t, "location.hash === '"+view.path+"'")
	}
	b.wait(t, "[data-row]")   // the timeline can be searched once it is there
	b.press(t, "/", "g", "c") // typed, not pressed
	b.until(t, "location.hash.includes('q=gc')")
	b.faultless(t)
}

func TestThemeIsKept(t *testing.T) {
	_, url := serveFleet(t, 5)
	b := startBrowser(t)
	b.open(t, url, "light", desk)
	b.wait(t, "[data-row]")
	const isDark = `getComputedStyle(document.body).backgroundColor === 'rgb(18, 20, 23)'`
	b.until(t, "!("+isDark+")")
	b.click(t, `button[title="Theme: system"]`)
	b.click(t, `button[title="Theme: light"]`)
	b.until(t, isDark)
	b.do(t, "reload", nil)
	b.wait(t, `button[title="Theme: dark"]`)
	b.until(t, isDark)
	b.faultless(t)
}

// Keys can be switched off, and stay so. The dialog that does it gives the focus back when its own button closes it.
func TestShortcutsCanBeSwitchedOff(t *testing.T) {
	_, url := serveFleet(t, 5)
	b := startBrowser(t)
	b.open(t, url+"#/clusters", "light", desk)
	b.wait(t, ".card time.tip")
	const open = `button[aria-label="Keys and settings"]`
	goes := func(want string) {
		t.Helper()
		b.press(t, "g", "t")
		if got := read[string](t, b, "evaluate", params{"script": "location.hash"}); got != want {
			t.Errorf("after g t the page is at %q, want %q", got, want)
		}
	}
	b.click(t, open)
	b.click(t, `label:has-text("Single-key shortcuts") input`)
	b.click(t, `dialog button[aria-label="Close"]`)
	b.gone(t, "dialog")
	b.until(t, `document.activeElement.matches('`+open+`')`)
	goes("#/clusters")
	b.do(t, "reload", nil)
	b.wait(t, ".card time.tip")
	goes("#/clusters")
	b.click(t, open)
	b.click(t, `label:has-text("Single-key shortcuts") input`)
	b.press(t, "Escape")
	b.gone(t, "dialog")
	b.until(t, `localStorage.length === 0`)
	goes("#/")
	b.faultless(t)
}

// A time is no stop on the way through the page. Those who cannot point at one have all of them shown exactly.
func TestTimesCanBeShownExactly(t *testing.T) {
	_, url := serveFleet(t, 5)
	b := startBrowser(t)
	b.open(t, url+"#/clusters", "light", desk)
	b.wait(t, ".card time.tip")
	b.until(t, `document.querySelectorAll('time[tabindex]').length === 0 && document.querySelector('time.tip').innerText.match(/now|ago/) !== null`)
	b.press(t, "?")
	b.click(t, `label:has-text("Show exact times") input`)
	b.accessible(t, "settings")
	b.press(t, "Escape")
	const exact = `[...document.querySelectorAll('time.tip')].every((x) => x.innerText.match(/20\d\d/) !== null)`
	b.until(t, exact)
	b.do(t, "reload", nil)
	b.wait(t, ".card time.tip")
	b.until(t, exact)
	b.faultless(t)
}

func TestExactTimesShowOnHover(t *testing.T) {
	_, url := serveFleet(t, 5)
	b := startBrowser(t)
	b.open(t, url+"#/clusters", "light", desk)
	b.wait(t, "time.tip")
	const shown = `getComputedStyle(document.querySelector('time.tip'), '::after').visibility === 'visible'`
	b.until(t, "!("+shown+")")
	b.do(t, "hover", params{"selector": "time.tip"})
	b.until(t, shown)
}
