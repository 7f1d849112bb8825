# Reads `go test -v ./...` and prints what `go test ./...` would, with the tests that were skipped and why. Of
# a package that failed everything is printed but what passed.

# go test prints a package at a time. The last line of each begins with ok, FAIL or ?.
/^(ok|FAIL|\?) *\t/ {
	if ($1 == "FAIL") printLines()
	for (i = 1; i <= skips; i++) print "    skipped: " skip[i]
	print
	lines = skips = 0
	current = ""
	split("", said)
	next
}

/^=== (RUN|NAME|CONT) / { current = $3; next }
/^=== PAUSE / || /^ *--- PASS: / || /^PASS$/ { next }

# Comes alone before the line of a failed package, and at the very end.
/^FAIL$/ { failed = 1; next }

/^ *--- SKIP: / {
	sub(/^ *--- SKIP: /, "")
	skip[++skips] = $1 ": " ($1 in said ? said[$1] : "no reason given")
	next
}

{
	line[++lines] = $0
	text = $0
	sub(/^ *[A-Za-z0-9_]+\.go:[0-9]+: /, "", text)
	if (text != $0) said[current] = text
}

# What is left belongs to no package that ended.
END {
	printLines()
	if (failed) print "FAIL"
}

function printLines() {
	for (i = 1; i <= lines; i++) print line[i]
}
