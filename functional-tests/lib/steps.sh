# The steps of tox.sh: how they run, beside one another too, and how their tests are counted. tox.sh sources it.

# Chains of steps that run at a time. Most steps wait for timeouts and for servers to start.
CHAINS_AT_ONCE=6

passed=0 failed=0 skipped=0
summary=()
bad=()

# The last results of steps, of any run: a line `STAGE COMMIT PASSED FAILED SKIPPED NAME` for each. `--from` reads it.
RESULTS_FILE="$TOX/results"
# The stage, the commit at its start, and the step of `--from`. When that step runs, it makes the file.
stage='' commit='' from=''
FROM_FILE="$LOGS/from"

# step HOW NAME COMMAND...: runs it, keeps its output in .tox/logs, counts its tests. After `--from` a step that has
# passed at this commit is not run again.
step() {
    local how=$1 name=$2 log start=$SECONDS cpu status starts p=0 f=0 s=0
    has_passed "$name" && return
    log=$(log_of "$name")
    rm -f "$log.starts"
    local -x PLACET_TEST_STARTS="$log.starts"
    children_cpu
    cpu=$children
    shift 2
    echo "== $name"
    if [[ $how == quiet ]]; then
        "$@" >"$log" 2>&1
    else
        "$@" 2>&1 | tee "$log"
    fi
    status=$?
    case "$how" in
        cargo)
            read -r p f s < <(awk '/^test result:/ { gsub(";", ""); p += $4; f += $6; s += $8 }
                                   END { print p + 0, f + 0, s + 0 }' "$log") ;;
        python)
            read -r p f s < <(tail -n 1 "$log" |
                sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p') ;;
        one) [[ $status == 0 ]] && p=1 ;;
        quiet) [[ $status == 0 ]] || tail -n 40 "$log" ;;
    esac
    : "${p:=0}" "${f:=0}" "${s:=0}"
    # A command that fails without a failed test ended before its tests: count one failure.
    [[ $status != 0 && $f == 0 ]] && f=1
    [[ $status == 0 && $how == python && $((p + f + s)) == 0 ]] && f=1
    starts=$([[ -f $log.starts ]] && wc -l <"$log.starts" || echo 0)
    if ! starts_are_few "$name" "$starts"; then f=$((f + 1)); fi
    children_cpu
    count "$name" "$p" "$f" "$s" $((SECONDS - start)) $((children - cpu)) "$starts"
    echo "${summary[-1]}"
    [[ $how == quiet ]] || echo "$stage $commit $p $f $s $name" >>"$RESULTS_FILE"
    return $((f > 0))
}

# The commit, if the tree is that of a commit.
commit_of_tree() {
    [[ -z $(git status --porcelain 2>/dev/null) ]] && git rev-parse HEAD || echo modified
}

# Counts a step that has passed in this stage at this commit, if the run goes on `--from` another step.
has_passed() {
    local p f s
    [[ $1 != "$from" ]] || touch "$FROM_FILE"
    [[ -n $from && $1 != "$from" && $commit != modified && -f $RESULTS_FILE ]] || return 1
    read -r p f s < <(awk -v stage="$stage" -v commit="$commit" -v name="$1" '
        $1 == stage && $2 == commit { row = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ /, "", row); if (row == name) last = $3 " " $4 " " $5 }
        END { print last }' "$RESULTS_FILE")
    [[ $f == 0 ]] && count "$1 (before)" "$p" 0 "$s" 0 0 0
}

# Whether a step started no more services than functional-tests/lib/starts.txt allows.
starts_are_few() {
    local most
    most=$(awk -F '  +' -v name="$1" '$1 == name { print $2 }' functional-tests/lib/starts.txt)
    [[ -z $most || ($2 -ge 1 && $2 -le $most) ]] && return
    echo "FAILED  $1: it started $2 services, and functional-tests/lib/starts.txt has 1 to $most" | tee -a "$(log_of "$1")"
    return 1
}

log_of() { echo "$LOGS/${1//[ ,\/]/-}.log"; }

# What a step's log says of its failures, or its end. CI may show the end of the output alone.
failures() {
    local log lines
    log=$(log_of "$1")
    [[ -s $log ]] || return
    lines=$(grep -A 8 -E '^(FAILED  |---- .* stdout ----|error)' "$log" || tail -n 12 "$log")
    head -n 20 <<<"$lines" | cut -c 1-160 | sed 's/^/    /'
}

# Sets `children` to the processor seconds of all programs that this shell has waited for, with theirs. A step that
# takes longer than its own waits.
children_cpu() {
    local file="$LOGS/times.$BASHPID"
    times >"$file"
    children=$(awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$file")
    rm -f "$file"
}

# side_by_side CHAIN...: runs chains of steps in parallel, at most CHAINS_AT_ONCE at a time, then shows the output of
# each and counts its tests.
side_by_side() {
    local chain files p f s started=0
    for chain in "$@"; do
        if ((started++ >= CHAINS_AT_ONCE)); then wait -n; fi
        files="$LOGS/chain-${chain// /-}"
        rm -f "$files".*
        echo "== $chain: runs in parallel (its output until then: $files.log)"
        (
            passed=0 failed=0 skipped=0 summary=() bad=()
            $chain
            echo "$passed $failed $skipped" >"$files.counts"
            printf '%s\n' ${summary[@]+"${summary[@]}"} >"$files.summary"
            printf '%s\n' ${bad[@]+"${bad[@]}"} >"$files.bad"
        ) >"$files.log" 2>&1 &
    done
    wait
    for chain in "$@"; do
        files="$LOGS/chain-${chain// /-}"
        cat "$files.log"
        read -r p f s <"$files.counts" || { broken "$chain" "ended early: see its output above"; continue; }
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        mapfile -t -O "${#summary[@]}" summary <"$files.summary"
        mapfile -t -O "${#bad[@]}" bad < <(grep . "$files.bad")
    done
}

count() {
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    summary+=("$(printf '%-28s %5d passed %3d failed %3d skipped %5d s %5d s of processors %4d starts' "$@")")
    [[ $3 == 0 ]] || bad+=("$1")
}

# The table of the steps, the slowest first.
slowest_first() {
    printf '%s\n' "${summary[@]}" | sed -E 's/^(.*skipped +([0-9]+) s .*)$/\2 \1/' | sort -k 1,1nr -s | cut -d ' ' -f 2-
}

skip() {
    echo "== $1: skipped: $2"
    count "$1 (skipped: $2)" 0 0 1 0 0 0
}

broken() {
    echo "== $1: $2"
    count "$1" 0 1 0 0 0 0
    return 1
}
