// Package documents answers the five source documents D0 to D4, item by item.
//
// The items are data, one file per document, and are all that comes in. Page renders them as
// docs/documents.md. Where a question is about a quantity, or spans several recipes, an
// Experiment measures the answer: a pure function of its seed in the simulation, so that a
// test can compare the page's figures with a fresh run.
//
// The words: an item is a listing, a scenario that the document tells, or a claim that it
// makes; it names the recipes that it concerns, the commands that show what is true of it, and
// the answer. A figure is a sentence with numbers that an experiment measured.
package documents
