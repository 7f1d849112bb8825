// Package glance uploads, lists and deletes images in Glance (Image API v2) for a VNF driver. It marks its images, and only
// lists and deletes images of the project that have these marks.
//
// An image has one tag for each instance that uses it. Glance adds and removes single tags atomically, so several VNFMs
// can share an image without other coordination.
package glance
