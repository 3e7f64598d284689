// Package spend tests what executions spend against model servers that count.
package spend
