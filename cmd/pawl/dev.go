package main

import "github.com/spf13/cobra"

func newDev(streams) *cobra.Command { return &cobra.Command{Use: "dev"} }
