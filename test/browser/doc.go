// Package browser tests the dashboard in a real Chromium: what a person on call does there, that the pages load nothing from
// elsewhere and log no error, and that axe-core finds nothing serious. It is a module of its own, so that what drives the
// browser is no dependency of Pawl. Pictures of all pages are left in bin/screenshots.
package browser
