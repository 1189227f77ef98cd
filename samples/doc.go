// Package samples holds runnable configurations; its test serves each of them
// and asks what the sample's expect.json says.
package samples
