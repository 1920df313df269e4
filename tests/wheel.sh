#!/bin/bash
# Installs the newest wheel of a folder by pip and by pipx into clean environments, and asks of both what a user asks:
# tests/wheel.sh FOLDER. Prints the tag that auditwheel gives it and the installed size. Needs python3 with venv and the package
# index, man and bash; nothing of the checkout is on the path.
set -euo pipefail

wheel=$(realpath "$(ls -t "$1"/*.whl | head -n 1)")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cd "$scratch"

python3 -m venv tools
tools/bin/pip install --quiet auditwheel pipx
echo "== $(basename "$wheel")"
tools/bin/auditwheel show "$wheel" | tr '\n' ' ' | sed 's/  */ /g'
echo

# What is used of an installation: its prefix.
use() {
    local prefix=$1
    export PATH="$prefix/bin:/usr/bin:/bin"
    mkdir -p work && cd work
    mileage --version
    mileage check . --seconds 0.02 >/dev/null
    for name in a b; do
        mileage run degradation -t virtual:plain-64gib --quick --no-band --out "$name" --report text >"$name.txt" 2>&1 || {
            cat "$name.txt"; exit 1; }
    done
    mileage compare a b | sed -n 1,3p
    mileage list studies | grep x25e-2010 >/dev/null
    { mileage compare a --published x25e-2010 2>&1 || true; } | grep "none of the cells" >/dev/null
    # Both look below the prefix of the command: man by its path, bash-completion by XDG_DATA_DIRS.
    MANPATH="$prefix/share/man" man -w mileage-run
    MANPATH="$prefix/share/man" man mileage-drive-serve | grep "Serve the virtual drive" >/dev/null
    XDG_DATA_DIRS="$prefix/share" bash -c '
        source "$XDG_DATA_DIRS/bash-completion/completions/mileage"
        COMP_WORDS=(mileage sel) COMP_CWORD=1
        _mileage_completion mileage
        [ "${COMPREPLY[*]}" = selftest ] && echo "completion: sel -> ${COMPREPLY[*]}"'
    cd "$scratch" && rm -rf work
    du -sh "$prefix" | sed 's/\t.*/ installed/'
}

echo "== pip"
python3 -m venv clean
clean/bin/pip install --quiet "$wheel"
(use "$scratch/clean")

echo "== pipx"
export PIPX_HOME=$scratch/pipx PIPX_BIN_DIR=$scratch/bin PIPX_MAN_DIR=$scratch/man
tools/bin/pipx install --quiet "$wheel"
[ -L "$scratch/man/man1/mileage-run.1" ] && echo "pipx links the manual pages"
(use "$scratch/pipx/venvs/mileage")
echo "everything that was asked was answered"
