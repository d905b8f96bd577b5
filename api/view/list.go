package view

// List is one page of a listing.
type List[T any] struct {
	Items    []T          `json:"items" nullable:"false" doc:"The page's items, in the listing's order."`
	Metadata ListMetadata `json:"metadata"`
	Warnings []string     `json:"warnings" nullable:"false" doc:"What may be missing from this answer, for people. Empty if it is complete."`
}

// ListMetadata says where a listing goes on.
type ListMetadata struct {
	Continue string `json:"continue,omitempty" doc:"Pass this as the parameter continue, with the same filters, to get the next page. Absent on the last page."`
}
