package app

import (
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// stakaterDialect returns what the settings change about the dialect.
func (s Settings) stakaterDialect() dialect.StakaterOptions { return s.reading().Stakater() }
