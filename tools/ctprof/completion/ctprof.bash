# shellcheck shell=bash
# Completion of ctprof's command line for bash. `ctprof complete` prints the candidates.

_ctprof() {
  local words word cur
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  case ${COMP_LINE:0:COMP_POINT} in *[[:blank:]]) words+=('') ;; esac
  cur=${words[-1]}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    case $word in
      :files | :directories)
        compopt -o filenames
        local kind=-f
        [ "$word" = :files ] || kind=-d
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$kind" -- "${cur#--*=}")
        ;;
      *=) compopt -o nospace && COMPREPLY+=("$word") ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <("$1" complete "${words[@]:1}" 2>/dev/null)
  # Readline treats the text after the last = or : as the word to complete.
  local known=${COMP_WORDBREAKS//[^=:]/}
  if [ -n "$known" ] && [[ $cur == *["$known"]* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*["$known"]}"}"}")
  fi
}
complete -F _ctprof ctprof
