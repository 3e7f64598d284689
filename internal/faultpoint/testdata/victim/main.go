// Command victim reaches one fault point twice.
package main

import (
	"fmt"

	"github.com/pawl-run/pawl/internal/faultpoint"
)

func main() {
	faultpoint.Hit("claimed:run_start")
	faultpoint.Hit("after_commit:tool_call")
	fmt.Println("first")
	faultpoint.Hit("after_commit:tool_call")
	fmt.Println("second")
}
