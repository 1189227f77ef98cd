package assemble

import (
	"cmp"
	"slices"
)

func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Text, b.Text))
	})
}
