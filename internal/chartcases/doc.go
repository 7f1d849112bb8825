// Package chartcases has small charts for tests, each with one odd feature of public charts, and packages of VNFs that consist of
// one chart.
//
// The folder charts has the charts as text. A line "=== name (sample, real): feature" begins a chart, and "-- path --" a file of
// it. A chart has a Chart.yaml and a Deployment <release>-web in templates/web.yaml, unless it brings its own. A folder
// charts/*.tgz becomes an archive.
package chartcases
