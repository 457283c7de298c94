// Package documents answers the five source documents D0 to D4, articles about locks on Redis, item
// by item: it says whether a document is right, and which command shows it.
//
// The items are data, in files named after their documents. Page renders them as docs/documents.md. If
// a question is about a quantity, or spans several recipes, an Experiment measures the answer. An
// experiment in the simulation is a pure function of its seed, so that a test can compare the page's
// figures with a fresh run.
//
// Vocabulary: an item is a listing in a document, a scenario that the document tells, or a claim
// that it makes. An item names the recipes that it concerns, the commands that show the answer,
// and the answer. A figure is a sentence with numbers that an experiment measured.
package documents
