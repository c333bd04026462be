#!/bin/sh
# Builds Caddy with the lock plugin, from this folder, with pinned versions.
#
#   ./xcaddy.sh                builds ./caddy
#   ./xcaddy.sh run [args…]    builds it when needed, then runs it with the
#                              arguments given; it serves caddyfile.example
#                              unless they name another configuration
#
# Needs Go and git, nothing else.
set -eu

CADDY=v2.11.9
CADDY_L4=v0.1.2
XCADDY=v0.4.5
NEEDED_GO=1.26

here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "xcaddy.sh: $*" >&2
	exit 1
}

check_go() {
	command -v go >/dev/null 2>&1 ||
		fail "Go is not installed. Install Go $NEEDED_GO or newer from https://go.dev/dl/ and try again."
	have=$(cd / && go env GOVERSION | sed 's/^go//; s/[^0-9.].*//')
	oldest=$(printf '%s\n%s\n' "$have" "$NEEDED_GO" | sort -t. -k1,1n -k2,2n | head -n 1)
	[ "$oldest" = "$NEEDED_GO" ] ||
		fail "Go $have is too old. Install Go $NEEDED_GO or newer from https://go.dev/dl/ and try again."
}

# up_to_date says whether ./caddy is newer than everything it is made of.
up_to_date() {
	[ -x "$here/caddy" ] &&
		[ -z "$(find "$here" -newer "$here/caddy" \
			\( -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum -o -name xcaddy.sh \) \
			-print | head -n 1)" ]
}

# names_config says whether arguments of "caddy run" choose a configuration.
names_config() {
	for arg; do
		case $arg in
		-c | --config | --config=* | -r | --resume) return 0 ;;
		esac
	done
	return 1
}

build() {
	check_go
	tools=$(mktemp -d)
	trap 'rm -rf "$tools"' EXIT INT TERM
	echo "Building Caddy $CADDY with caddy-l4 $CADDY_L4 and the lock plugin; the first time takes a few minutes." >&2
	GOBIN="$tools" go install "github.com/caddyserver/xcaddy/cmd/xcaddy@$XCADDY" ||
		fail "could not install xcaddy $XCADDY; see the message above"
	# xcaddy wants a version for a local module; v0.0.0 is never looked up.
	(cd "$here" && "$tools/xcaddy" build "$CADDY" --output "$here/caddy" \
		--with "github.com/mholt/caddy-l4@$CADDY_L4" \
		--with "github.com/caddylock/caddylock@v0.0.0=$here") ||
		fail "the build failed; see the message above"
	rm -rf "$tools"
	trap - EXIT INT TERM
}

case "${1-}" in
"")
	build
	echo "Built $here/caddy" >&2
	;;
run)
	shift
	up_to_date || build
	names_config "$@" || set -- --config "$here/caddyfile.example" --adapter caddyfile "$@"
	exec "$here/caddy" run "$@"
	;;
*)
	fail "unknown argument '$1'; use './xcaddy.sh' to build or './xcaddy.sh run [args]' to build and run"
	;;
esac
