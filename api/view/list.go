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

// Version is the build that answers.
type Version struct {
	Version   string `json:"version" doc:"The release, or dev if it was built from a working tree." example:"v0.1.0"`
	Revision  string `json:"revision,omitempty" doc:"The source revision that was built."`
	GoVersion string `json:"goVersion" doc:"The version of Go that it was built with." example:"go1.26.0"`
}
