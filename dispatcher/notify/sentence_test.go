package notify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

const aboutPrices = "Reloader detected changes in *prices.v2* of type *CONFIGMAP* in namespace *shop*. " +
	"Hence reloaded *storage* of type *StatefulSet* in namespace *shop*"

const aboutToken = "Reloader detected changes in *token* of type *SECRET* in namespace *shop*. " +
	"Hence reloaded *storage* of type *StatefulSet* in namespace *shop*"

func TestSentences(t *testing.T) {
	cases := map[string]struct {
		reason string
		info   string
		causes []reloader.Cause
		want   []string
	}{
		"one config": {
			reason: "the text is that of Stakater Reloader",
			causes: []reloader.Cause{cause("c-1", prices, 0, sumA, sumB)},
			want:   []string{aboutPrices},
		},
		"additional info": {
			reason: "it is put in front, without the space around it",
			info:   " cluster blue\n",
			causes: []reloader.Cause{cause("c-1", token, 0, sumA, sumB)},
			want:   []string{"cluster blue : " + aboutToken},
		},
		"several configs": {
			reason: "there is one message for each, as if they had come one after the other",
			causes: []reloader.Cause{cause("c-1", token, 0, sumA, sumB), cause("c-2", prices, 0, sumA, sumB)},
			want:   []string{aboutToken, aboutPrices},
		},
		"one config, changed three times": {
			reason: "they were rolled in together",
			causes: []reloader.Cause{
				cause("c-1", prices, 0, sumA, sumB), cause("c-2", prices, 1, sumB, sumC), cause("c-3", prices, 2, sumC, sumA),
			},
			want: []string{aboutPrices},
		},
		"text that is too long": {
			reason: "it is cut between two characters",
			info:   strings.Repeat("ä", maxTextBytes),
			causes: []reloader.Cause{cause("c-1", prices, 0, sumA, sumB)},
			want:   []string{strings.Repeat("ä", maxTextBytes/2)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, sentences(reload(tc.causes...), tc.info)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
