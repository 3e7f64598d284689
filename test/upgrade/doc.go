// Package upgrade proves that programs go on with what earlier releases have stored.
//
// testdata holds one folder for each fixture: the whole of a Redis in which an installation of that release was struck down
// (redis.txt), the agents file that it had (agents.yaml), and what executions there are and what is to become of them
// (scenes.json). `make fixture NAME=2` writes another one with the programs as they are. A fixture is never edited: fixtures.sum
// says what each file was.
package upgrade
