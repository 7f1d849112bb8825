// Package glance does with Glance's images (Image API v2) what a VNF driver needs: it uploads them, lists those that have the
// driver's marks, and removes them. Images of other projects, and images without the marks, are never listed.
//
// An image has as many users as it has tags of instances. Glance adds and removes single tags atomically, so VNFMs that know nothing
// of each other can share an image.
package glance
