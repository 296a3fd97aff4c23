#compdef ctprof
# Completion of ctprof's command line for zsh. `ctprof complete` prints the candidates.

_ctprof() {
  local line word
  local -a complete shown unfinished
  for line in "${(@f)$("${(Q)words[1]}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    case $word in
      '') ;;
      :files) [[ $PREFIX == --*=* ]] && compset -P '--*='; _files ;;
      :directories) [[ $PREFIX == --*=* ]] && compset -P '--*='; _files -/ ;;
      *=) unfinished+=("$word") ;;
      *) complete+=("$word") shown+=("${line//$'\t'/  -- }") ;;
    esac
  done
  (( $#unfinished )) && compadd -S '' -- "${unfinished[@]}"
  (( $#complete )) && compadd -l -d shown -- "${complete[@]}"
  return 0
}

if [[ $funcstack[1] = _ctprof ]]; then _ctprof "$@"; else compdef _ctprof ctprof; fi
