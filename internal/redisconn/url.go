package redisconn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Mode is the shape of the installation a URL names.
type Mode string

// The modes.
const (
	Standalone Mode = "standalone"
	Sentinel   Mode = "sentinel"
	Cluster    Mode = "cluster"
)

// Target is what a URL says.
type Target struct {
	Mode     Mode
	Addrs    []string // host:port; of the sentinels or of some cluster nodes
	Master   string   // the name the sentinels know it by
	Username string
	Password string
	DB       int
	TLS      bool
	// Options of the query, zero when not given.
	SentinelUsername, SentinelPassword     string
	DialTimeout, ReadTimeout, WriteTimeout time.Duration
	PoolSize                               int
	SkipVerify                             bool
}

const forms = "want redis://[user:password@]host:port[/db], rediss://…, redis+sentinel://h1:p,h2:p/master or " +
	"redis+cluster://h1:p,h2:p"

// Parse reads a URL. A user and password, a database (/db, after the master's name for sentinels, or db=) and these
// options may be given: db, dial_timeout, read_timeout, write_timeout (durations), pool_size, sentinel_username,
// sentinel_password, tls (for sentinel and cluster), tls_skip_verify. Unknown options are refused. Errors never show the
// URL, which may hold a password.
func Parse(raw string) (Target, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Target{}, fmt.Errorf("redis URL: no scheme: %s", forms)
	}
	var target Target
	switch scheme {
	case "redis", "rediss":
		target.Mode, target.TLS = Standalone, scheme == "rediss"
	case "redis+sentinel", "rediss+sentinel":
		target.Mode, target.TLS = Sentinel, scheme == "rediss+sentinel"
	case "redis+cluster", "rediss+cluster":
		target.Mode, target.TLS = Cluster, scheme == "rediss+cluster"
	default:
		return Target{}, fmt.Errorf("redis URL: unknown scheme %q: %s", scheme, forms)
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	err := errors.Join(target.readAuthority(authority), target.readPath(path), target.readQuery(query))
	if err == nil {
		err = target.check()
	}
	if strings.Contains(path, "@") || err != nil && strings.Contains(query, "@") {
		return Target{}, errCutPassword
	}
	if err != nil {
		return Target{}, err
	}
	return target, nil
}

// errCutPassword is what is wrong when a password with a / or ? in it seems to end there: its rest stands where a database or
// an option should, and the errors of those would show it.
var errCutPassword = errors.New("redis URL: user, password and options must be percent-encoded: / is %2F, ? is %3F and @ is %40")

func (t *Target) readAuthority(authority string) error {
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		hosts = authority[at+1:]
		user, password, found := strings.Cut(authority[:at], ":")
		var errUser, errPassword error
		t.Username, errUser = url.PathUnescape(user)
		t.Password, errPassword = url.PathUnescape(password)
		if errUser != nil || errPassword != nil {
			return errors.New("redis URL: user or password is not percent-encoded")
		}
		if !found { // redis://secret@host, as some providers print it, would log in nobody knows who
			return errors.New("redis URL: want user:password@ or :password@ before the host")
		}
	}
	port := "6379"
	if t.Mode == Sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		addr, err := withPort(host, port)
		if err != nil {
			return err
		}
		t.Addrs = append(t.Addrs, addr)
	}
	return nil
}

func withPort(host, port string) (string, error) {
	name, given, err := net.SplitHostPort(host)
	if err != nil { // no port; an IPv6 address may stand in brackets
		name, given = strings.Trim(host, "[]"), port
	}
	number, err := strconv.Atoi(given)
	if name == "" && len(host) == 0 || err != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("redis URL: %q is no host:port", name+":…") // a password without its @ stands where a port should
	}
	if name == "" {
		name = "localhost"
	}
	return net.JoinHostPort(name, given), nil
}

func (t *Target) readPath(path string) error {
	db := path
	if t.Mode == Sentinel {
		name, rest, _ := strings.Cut(path, "/")
		master, err := url.PathUnescape(name)
		if err != nil {
			return errors.New("redis URL: the master's name is not percent-encoded")
		}
		t.Master, db = master, rest
	}
	if db = strings.TrimSuffix(db, "/"); db == "" {
		return nil
	}
	return t.readDB(db)
}

func (t *Target) readDB(value string) error {
	db, err := strconv.Atoi(value)
	if err != nil || db < 0 {
		return fmt.Errorf("redis URL: database %q is not a number", value)
	}
	t.DB = db
	return nil
}

func (t *Target) check() error {
	switch {
	case t.Mode == Sentinel && t.Master == "":
		return errors.New("redis URL: name the master: redis+sentinel://h1:p,h2:p/master")
	case t.Mode == Cluster && t.DB != 0:
		return errors.New("redis URL: a cluster has only database 0")
	case t.Mode == Standalone && len(t.Addrs) != 1:
		return errors.New("redis URL: several hosts need redis+sentinel:// or redis+cluster://")
	case t.Mode != Sentinel && (t.SentinelUsername != "" || t.SentinelPassword != ""):
		return errors.New("redis URL: sentinel_username and sentinel_password belong to redis+sentinel://")
	}
	return nil
}
