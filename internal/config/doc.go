// Package config reads the settings of Pawl's programs from the environment, and from nothing else.
//
// One struct per program lists the names it obeys, with default and meaning in the tags; Usage prints them and Load fills
// and checks them. A program ignores a name that belongs to another program and refuses a PAWL_ name that no program
// knows, so that a typing mistake never passes in silence. A name whose feature is not there yet takes only the values
// that are true today.
//
// Errors name the variable and never show the value of one that may hold a secret. The package must not know Redis,
// HTTP or the loop: it only says what was asked for.
package config
