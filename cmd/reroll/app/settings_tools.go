package app

import (
	"github.com/reroll-dev/reroll/cmd/reroll/flags"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// reading is whose annotations the settings have read, and how.
func (s Settings) reading() flags.Dialects {
	return flags.Dialects{Keys: s.Keys, Ignored: s.IgnoredConfigs, AutoReloadAll: s.AutoReloadAll, CSI: s.CSI}
}

// dialects returns every dialect as the settings have it.
func (s Settings) dialects() dialect.Set {
	return s.reading().Set()
}
